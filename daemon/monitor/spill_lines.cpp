// SPDX-License-Identifier: Apache-2.0
#include "daemon/monitor/spill_lines.hpp"

#include <utility>

#include <fmt/format.h>

namespace l3 {
namespace {

bool is_whole(const spill_summary& s) {
  return s.incomplete == 0 && s.expected.value_or(s.admitted) == s.admitted;
}

} // namespace

std::vector<std::string> spill_lines::note(const spill_list::news& ended) {
  std::vector<std::string> lines;
  for (const spill_summary& s : ended.latest) {
    if (!is_whole(s)) {
      lines.push_back(fmt::format("spill {}: {} events admitted, {} incomplete, {} sent", s.spill,
                                  s.admitted, s.incomplete,
                                  s.expected ? fmt::to_string(*s.expected) : "?"));
      continue;
    }
    if (whole_++ == 0) first_ = s.spill;
    last_ = s.spill;
    events_ += s.admitted;
  }
  if (const auto more = ended.count - ended.latest.size(); more != 0)
    lines.push_back(fmt::format("and {} earlier spills", more));
  return lines;
}

std::optional<std::string> spill_lines::look(time_point now) {
  if (whole_ == 0 || (told_at_ && now < *told_at_ + interval)) return std::nullopt;
  told_at_ = now;
  const std::uint64_t events = std::exchange(events_, 0);
  const std::uint64_t whole = std::exchange(whole_, 0);
  if (whole == 1) return fmt::format("spill {}: whole, {} events", last_, events);
  return fmt::format("spills {} to {}: {} whole ones, {} events", first_, last_, whole, events);
}

} // namespace l3
