// SPDX-License-Identifier: Apache-2.0
#include "tools/verify/payload_tally.hpp"

#include "transport/store/summary_view.hpp"

namespace l3 {

std::vector<std::uint32_t> lines_that_asked(const packed_event_view& event) {
  std::vector<std::uint32_t> ids;
  const auto summary = summary_view::parse(event.summary());
  if (!summary || event.payload_lines() == 0) return ids;
  const std::uint32_t asked = event.payload().asked;
  for (std::size_t n = 0; n < summary->lines.size(); ++n)
    if ((asked >> n & 1) != 0) ids.push_back(summary->lines[n].id);
  return ids;
}

void payload_tally::add(const packed_event_view& event) {
  if (event.is_whole()) return;
  kept_so& to = all_[static_cast<std::size_t>(event.header().payload)];
  ++to.events;
  for (const std::uint32_t id : lines_that_asked(event)) ++to.by_line[id];
}

std::uint64_t payload_tally::events() const {
  std::uint64_t n = 0;
  for (const kept_so& one : all_) n += one.events;
  return n;
}

} // namespace l3
