// SPDX-License-Identifier: Apache-2.0
// The log lines about events that came with other bytes than they have: the first of each spill,
// but a few lines at once and then one a second, however many spills have one.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "transport/accounting/occasional.hpp"
#include "transport/building/event_builder.hpp"
#include "transport/format/time.hpp"

namespace l3 {

class conflict_lines {
public:
  conflict_lines(readout crates, std::uint32_t run) : crates_(std::move(crates)), run_(run) {}

  /// Those that were found now; one that is left out is counted in a later line.
  [[nodiscard]] std::vector<std::string> note(const std::vector<event_conflict>& found,
                                              time_point now);

private:
  [[nodiscard]] std::string in_words(const event_conflict& found) const;

  readout crates_;
  std::uint32_t run_;
  line_budget told_{4, std::chrono::seconds(1)};
};

} // namespace l3
