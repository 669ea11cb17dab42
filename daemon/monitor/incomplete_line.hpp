// SPDX-License-Identifier: Apache-2.0
// The log line about incomplete events: how many, and which crates' fragments are missing or bad.
// One line per spill.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "transport/accounting/counters.hpp"
#include "transport/format/readout.hpp"
#include "transport/format/time.hpp"

namespace l3 {

class incomplete_line {
public:
  /// A line after this time even if no spill ends, because its end is lost or it is long.
  static constexpr auto longest_wait = std::chrono::seconds(10);

  explicit incomplete_line(const readout& crates) : crates_(crates) {}

  /// "60 events incomplete: 58 lack crate 11, 2 crate 3", for the events since the last line.
  /// Returns nothing if there are none, or if their spill continues.
  [[nodiscard]] std::optional<std::string> look(const building_counters& counted, bool spill_ended,
                                                time_point now);

private:
  using by_crate = std::array<std::uint64_t, most_crates>;

  const readout crates_;
  std::uint64_t events_ = 0;
  by_crate missing_{};
  by_crate malformed_{};
  by_crate alone_{};
  std::optional<time_point> since_; ///< when the first unreported event was seen
};

} // namespace l3
