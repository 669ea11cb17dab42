// SPDX-License-Identifier: Apache-2.0
// The recent rate of a count. For one thread, which passes the time.
#pragma once

#include <cstdint>
#include <deque>

#include "transport/format/time.hpp"

namespace l3 {

class recent_rate {
public:
  explicit recent_rate(std::chrono::nanoseconds window) : window_(window) {}

  /// Call it about twice a second. A decreasing count restarts the measurement.
  void note(std::uint64_t count, time_point now) {
    if (!samples_.empty() && count < samples_.back().count) samples_.clear();
    samples_.push_back({now, count});
    while (samples_.size() > 2 && samples_[1].at + window_ <= now) samples_.pop_front();
  }

  /// The rate over the window, or over the elapsed part of it; 0 before the second count.
  [[nodiscard]] double per_second() const {
    if (samples_.size() < 2 || samples_.back().at <= samples_.front().at) return 0;
    return static_cast<double>(samples_.back().count - samples_.front().count) /
           in_seconds(samples_.back().at - samples_.front().at);
  }

private:
  struct sample {
    time_point at;
    std::uint64_t count;
  };

  std::chrono::nanoseconds window_;
  std::deque<sample> samples_;
};

} // namespace l3
