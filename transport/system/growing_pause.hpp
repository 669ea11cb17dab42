// SPDX-License-Identifier: Apache-2.0
// When to try again what may fail, or has to be done, again and again, such as to write a file anew
// that another program removes each time: at once the first time, then after a pause that doubles
// up to a limit. A quiet time as long as the limit begins anew. For one thread.
#pragma once

#include <algorithm>
#include <chrono>

namespace l3 {

class growing_pause {
public:
  using time_point = std::chrono::steady_clock::time_point;
  using duration = std::chrono::nanoseconds;

  growing_pause(duration first, duration longest) : first_(first), longest_(longest) {}

  /// True: it is tried now.
  [[nodiscard]] bool is_over(time_point now) {
    if (now < not_before_) return false;
    if (now - not_before_ >= longest_) pause_ = duration::zero();
    pause_ = std::clamp(2 * pause_, first_, longest_);
    not_before_ = now + pause_;
    return true;
  }

  /// The next try is made at once.
  void begin_anew() {
    pause_ = duration::zero();
    not_before_ = {};
  }

private:
  duration first_;
  duration longest_;
  duration pause_{};
  time_point not_before_{};
};

} // namespace l3
