// SPDX-License-Identifier: Apache-2.0
// The pace of the output link, shared by its forwarders: one for newly packed events, one for the
// backlog on disk. New events go first as long as the backlog has recently had its quarter of the
// link, so that neither starves; one uses what the other leaves. The caller passes the time.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>

#include "transport/format/time.hpp"
#include "transport/format/units.hpp"

namespace l3 {

/// Limits a sender's rate: it tells how long to wait before the next bytes may go. The output in
/// any interval is at most the rate times the interval plus a burst, which compensates timers that
/// wake late.
class pacer {
public:
  /// `burst`: how far the sender may fall behind its pace and still catch up. A rate of 0 means no
  /// limit.
  pacer(bit_rate rate, std::chrono::nanoseconds burst)
      : nanoseconds_per_byte_(time_of_byte(rate)), burst_(burst) {}

  /// Changes the rate: data on the link count at the new rate. The sender may still catch up as
  /// before.
  void set_rate(bit_rate rate, time_point now) {
    const double before = std::exchange(nanoseconds_per_byte_, time_of_byte(rate));
    if (due_ <= now) return;
    const auto left = static_cast<double>((due_ - now).count());
    due_ = now + whole(before > 0 ? left * nanoseconds_per_byte_ / before : 0);
    fraction_ = 0;
  }

  /// Zero if bytes may be sent now.
  [[nodiscard]] std::chrono::nanoseconds wait(time_point now) const {
    return std::max(due_ - now, std::chrono::nanoseconds::zero());
  }

  /// Notes that `bytes` were sent.
  void sent(std::uint64_t bytes, time_point now) {
    if (nanoseconds_per_byte_ == 0) return;
    if (due_ < now - burst_) {
      due_ = now - burst_;
      fraction_ = 0;
    }
    const double step = static_cast<double>(bytes) * nanoseconds_per_byte_ + fraction_;
    due_ += whole(step);
    fraction_ = step - static_cast<double>(whole(step).count());
  }

private:
  static double time_of_byte(bit_rate r) {
    return r.bits_per_second > 0 ? 8e9 / r.bits_per_second : 0;
  }
  static std::chrono::nanoseconds whole(double time) {
    return std::chrono::nanoseconds(static_cast<std::int64_t>(time));
  }

  double nanoseconds_per_byte_;
  std::chrono::nanoseconds burst_;
  time_point due_;      ///< when the link is idle again at this pace
  double fraction_ = 0; ///< of a nanosecond, carried over
};

/// Thread-safe.
class link_pace {
public:
  enum class share : std::uint8_t { fresh, backlog };

  explicit link_pace(bit_rate rate) : pacer_(rate, burst) {}

  /// Sets the rate of both.
  void set_rate(bit_rate rate, time_point now) {
    const std::lock_guard guard(lock_);
    pacer_.set_rate(rate, now);
    waits_until_ = {}; // computed with the old rate
  }

  /// Zero if a block may be sent now; else ask again after this time.
  [[nodiscard]] std::chrono::nanoseconds wait(share who, time_point now) {
    const std::lock_guard guard(lock_);
    auto time = pacer_.wait(now);
    if (time.count() == 0 && now < waits_until_[1 - index(who)] && who != preferred()) time = turn;
    if (time.count() > 0) waits_until_[index(who)] = now + time + patience;
    return time;
  }

  void sent(share who, std::uint64_t bytes, time_point now) {
    const std::lock_guard guard(lock_);
    pacer_.sent(bytes, now);
    waits_until_[index(who)] = {};
    const auto n = static_cast<std::int64_t>(bytes);
    owed_ = std::clamp(owed_ + (who == share::fresh ? n : -fresh_per_backlog * n), -lately, lately);
  }

private:
  /// poll() wakes up to a millisecond or two late; this much may be caught up.
  static constexpr std::chrono::nanoseconds burst = std::chrono::milliseconds(4);
  static constexpr std::chrono::nanoseconds turn = std::chrono::milliseconds(1);
  /// A sender that does not ask for this long after its time has nothing to send.
  static constexpr std::chrono::nanoseconds patience = std::chrono::milliseconds(4);

  static constexpr std::int64_t fresh_per_backlog = 3; ///< in bytes: the backlog gets one in four
  static constexpr std::int64_t lately = std::int64_t{64} << 20;

  static constexpr std::size_t index(share who) { return static_cast<std::size_t>(who); }

  [[nodiscard]] share preferred() const { return owed_ > 0 ? share::backlog : share::fresh; }

  std::mutex lock_;
  pacer pacer_;
  std::array<time_point, 2> waits_until_{};
  std::int64_t owed_ = 0; ///< recent debt to the backlog, in bytes of new events
};

} // namespace l3
