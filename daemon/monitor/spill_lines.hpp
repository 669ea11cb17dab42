// SPDX-License-Identifier: Apache-2.0
// The log lines about ended spills: one for each spill with missing events, and at most one a
// minute for all the others together. So a quiet log means a quiet run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/monitor/spill_list.hpp"
#include "transport/format/time.hpp"

namespace l3 {

class spill_lines {
public:
  static constexpr auto interval = std::chrono::minutes(1);

  /// "spill 35: 1990 events admitted, 3 incomplete, 2000 sent", for each spill with missing events.
  [[nodiscard]] std::vector<std::string> note(const spill_list::news& ended);

  /// "spills 31 to 42: 12 whole ones, 24000 events", for the spills since the last such line.
  /// Returns nothing before its time, or without spills. Call it also when no spill ends.
  [[nodiscard]] std::optional<std::string> look(time_point now);

private:
  std::uint32_t first_ = 0;
  std::uint32_t last_ = 0;
  std::uint64_t whole_ = 0;
  std::uint64_t events_ = 0;
  std::optional<time_point> told_at_;
};

} // namespace l3
