// SPDX-License-Identifier: Apache-2.0
// Rate limits for the log. `occasional` logs the first occurrence of one kind at once and later a
// count now and then. `line_budget` allows a few lines of any kind at once, then one now and then.
// So a flood of bad packets, or a peer that keeps changing, does not flood the log.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "transport/format/time.hpp"

namespace l3 {

/// Decides when to log one kind of frequent occurrence. For one thread.
class occasional {
public:
  explicit occasional(std::chrono::nanoseconds interval) : interval_(interval) {}

  /// Call it for `times` occurrences. Returns the number of occurrences to log now, including
  /// these; nothing if it is too early to log again.
  [[nodiscard]] std::optional<std::uint64_t> happened(time_point now, std::uint64_t times = 1) {
    untold_ += times;
    return due(now);
  }

  /// Call it from a timer, without a new occurrence, so that the end of a burst is logged too.
  [[nodiscard]] std::optional<std::uint64_t> due(time_point now) {
    if (untold_ == 0 || (told_at_ && now - *told_at_ < interval_)) return std::nullopt;
    told_at_ = now;
    return std::exchange(untold_, 0);
  }

private:
  std::chrono::nanoseconds interval_;
  std::optional<time_point> told_at_;
  std::uint64_t untold_ = 0;
};

/// Limits the log lines that a peer can cause. For one thread.
class line_budget {
public:
  /// Allows `burst` lines at once, then one per interval.
  line_budget(std::uint64_t burst, std::chrono::nanoseconds interval)
      : burst_(burst), interval_(interval), left_(burst) {}

  /// Asks to log a line. Returns the number of lines left out before it; nothing if this line is
  /// left out, too.
  [[nodiscard]] std::optional<std::uint64_t> take(time_point now) {
    const auto grown = static_cast<std::uint64_t>(
        std::max<std::int64_t>(0, (now - grown_at_.value_or(now)) / interval_));
    if (left_ + grown >= burst_) {
      left_ = burst_;
      grown_at_ = now;
    } else {
      left_ += grown;
      *grown_at_ += static_cast<std::int64_t>(grown) * interval_;
    }
    if (left_ == 0) {
      ++left_out_;
      return std::nullopt;
    }
    --left_;
    return std::exchange(left_out_, 0);
  }

private:
  std::uint64_t burst_;
  std::chrono::nanoseconds interval_;
  std::uint64_t left_;
  std::uint64_t left_out_ = 0;
  std::optional<time_point> grown_at_;
};

} // namespace l3
