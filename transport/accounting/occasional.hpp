// SPDX-License-Identifier: Apache-2.0
// Decides when to log repeated news: the first of a kind at once, then a count now and then. A
// flood of bad packets must not become a flood of lines.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "transport/format/time.hpp"

namespace l3 {

/// Decides when to log something that may happen often. For one thread.
class occasional {
public:
  explicit occasional(std::chrono::nanoseconds interval) : interval_(interval) {}

  /// It happened (`times` times). Returns the number of times to log now, these included; nothing
  /// while it is too early to log again.
  [[nodiscard]] std::optional<std::uint64_t> happened(time_point now, std::uint64_t times = 1) {
    untold_ += times;
    return due(now);
  }

  /// The same without a new occurrence, for a timer, so that the end of a burst is logged too.
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

} // namespace l3
