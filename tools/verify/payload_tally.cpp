// SPDX-License-Identifier: Apache-2.0
#include "tools/verify/payload_tally.hpp"

#include <span>

#include "gpu/codec/decode_all.hpp"
#include "transport/format/crc32c.hpp"
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

std::uint32_t crc_of_payload(const packed_event_view& event) {
  if (event.payload_lines() == 0) return 0;
  std::uint32_t crc = 0;
  const auto add = [&crc]<class T>(const T& value) {
    crc = crc32c(std::as_bytes(std::span(&value, 1)), crc);
  };
  add(event.header().payload);
  add(event.payload());
  for (std::uint32_t n = 0; n < event.payload_lines(); ++n) add(event.payload_of_line(n));
  const bool has_pulses = event.header().payload == event_payload::features;
  std::vector<std::byte> fragment;
  for (std::uint32_t f = 0; f < event.fragments(); ++f) {
    for (const std::uint16_t records : kept_records(event, f)) add(records);
    if (has_pulses)
      for (const auto& data : limited_data(event, f)) crc = crc32c(data, crc);
    else if (!event.is_whole() && rebuild_fragment(event, f, fragment, strong::decode_all))
      crc = crc32c(fragment, crc);
  }
  return crc;
}

void payload_tally::add(const packed_event_view& event) {
  if (event.is_whole()) return;
  ++events_;
  all_[static_cast<std::size_t>(event.header().payload)].add(event);
}

void payload_tally::kept_so::add(const packed_event_view& event) {
  ++events;
  for (const std::uint32_t id : lines_that_asked(event)) ++by_line[id];
}

} // namespace l3
