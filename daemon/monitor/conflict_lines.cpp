// SPDX-License-Identifier: Apache-2.0
#include "daemon/monitor/conflict_lines.hpp"

#include <cstddef>

#include <fmt/format.h>

#include "daemon/words.hpp"

namespace l3 {

std::vector<std::string> conflict_lines::note(const std::vector<event_conflict>& found,
                                              time_point now) {
  std::vector<std::string> lines;
  for (const event_conflict& e : found) {
    if (const auto left_out = told_.take(now))
      lines.push_back(in_words(e) +
                      (*left_out > 0 ? fmt::format(" ({} such lines left out)", *left_out) : ""));
  }
  return lines;
}

std::string conflict_lines::in_words(const event_conflict& found) const {
  std::vector<std::string> names;
  for (std::size_t c = 0; c < crates_.crates.size(); ++c)
    if ((found.crates >> c & 1) != 0) names.push_back(fmt::to_string(crates_.crates[c].number));
  const std::string other =
      names.empty() ? "other bytes" : fmt::format("other bytes of crate {}", first_names(names));
  return found.at_once
             ? fmt::format("spill {}: event {} came twice at once, with {}; it is incomplete, "
                           "because neither is taken: two crates have the same number, or two "
                           "senders use the same numbers in run {}",
                           found.key.spill, found.key.number, other, run_)
             : fmt::format("spill {}: event {} came again with {}, and is not stored; two senders "
                           "use the same numbers in run {}, or other data are sent as the same "
                           "run",
                           found.key.spill, found.key.number, other, run_);
}

} // namespace l3
