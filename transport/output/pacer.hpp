// SPDX-License-Identifier: Apache-2.0
// Keeps a sender at a rate: it says how long to wait before the next bytes may go. What goes out in
// any stretch of time is at most the rate times that time plus a burst, which makes up for timers
// that wake late. The clock is the caller's.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "transport/format/units.hpp"

namespace l3 {

class pacer {
public:
  /// `burst`: how far the sender may fall behind its pace and still make up for it. A rate of 0 is
  /// no limit.
  pacer(bit_rate rate, std::chrono::nanoseconds burst)
      : nanoseconds_per_byte_(rate.bits_per_second > 0 ? 8e9 / rate.bits_per_second : 0),
        burst_(static_cast<std::uint64_t>(burst.count())) {}

  /// From now on: what is on the line counts at the new rate.
  void set_rate(bit_rate rate, std::uint64_t now) {
    const double before = nanoseconds_per_byte_;
    nanoseconds_per_byte_ = rate.bits_per_second > 0 ? 8e9 / rate.bits_per_second : 0;
    const double left = due_ > now ? static_cast<double>(due_ - now) : 0;
    due_ =
        now + (before > 0 ? static_cast<std::uint64_t>(left * nanoseconds_per_byte_ / before) : 0);
    fraction_ = 0;
  }

  /// Zero if bytes may go now (`now` in ns, as steady_now()).
  [[nodiscard]] std::chrono::nanoseconds wait(std::uint64_t now) const {
    return std::chrono::nanoseconds(due_ > now ? due_ - now : 0);
  }

  /// Tells it that `bytes` went out at `now`.
  void sent(std::uint64_t bytes, std::uint64_t now) {
    if (nanoseconds_per_byte_ == 0) return;
    const std::uint64_t earliest = now > burst_ ? now - burst_ : 0;
    if (due_ < earliest) {
      due_ = earliest;
      fraction_ = 0;
    }
    const double step = static_cast<double>(bytes) * nanoseconds_per_byte_ + fraction_;
    const auto whole = static_cast<std::uint64_t>(step);
    due_ += whole;
    fraction_ = step - static_cast<double>(whole);
  }

  /// Both in one: how long to wait before these bytes; zero means that they count as sent now.
  [[nodiscard]] std::chrono::nanoseconds wait_before(std::uint64_t bytes, std::uint64_t now) {
    const auto time = wait(now);
    if (time.count() == 0) sent(bytes, now);
    return time;
  }

private:
  double nanoseconds_per_byte_;
  std::uint64_t burst_;
  std::uint64_t due_ = 0; ///< when the line is idle again, if it keeps its pace
  double fraction_ = 0;   ///< of a nanosecond, carried on
};

} // namespace l3
