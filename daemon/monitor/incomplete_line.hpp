// SPDX-License-Identifier: Apache-2.0
// The log line about incomplete events: how many, and which crates' fragments are missing or bad.
// One line per spill.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
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
  /// Returns nothing while their spill continues, or if every event was complete.
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

// Watches the share of events that lacked fragments at their time limit and so were lost before
// admission. A loss that all crates share is no crate's fault, so only this reports it. For one
// thread.

class incomplete_share {
public:
  /// Call it twice a second. Returns true while more than one in a hundred events of about the last
  /// ten seconds were incomplete. It stays true until the share is half of that, so that it does
  /// not flicker.
  [[nodiscard]] bool look(std::uint64_t incomplete, std::uint64_t admitted) {
    constexpr double kept = 0.95; // factor by which each look decays the counts
    constexpr double most_share = 0.01;
    constexpr double least_events = 5;
    incomplete_ = kept * incomplete_ + rise(incomplete_before_, incomplete);
    admitted_ = kept * admitted_ + rise(admitted_before_, admitted);
    const double hold = is_ ? 0.5 : 1;
    is_ = incomplete_ >= hold * least_events &&
          incomplete_ > hold * most_share * (incomplete_ + admitted_);
    return is_;
  }

private:
  static double rise(std::uint64_t& before, std::uint64_t now) {
    return static_cast<double>(now - std::exchange(before, now));
  }

  std::uint64_t incomplete_before_ = 0;
  std::uint64_t admitted_before_ = 0;
  double incomplete_ = 0;
  double admitted_ = 0;
  bool is_ = false;
};

} // namespace l3
