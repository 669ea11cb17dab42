// SPDX-License-Identifier: Apache-2.0
// The pace of the output line, shared by the forwarders that send on it: one for events that have
// just been packed, one for what waits on disk. Fresh events go first as long as the backlog has
// had its quarter of the line lately, so that neither starves; what one does not use is the
// other's. Thread-safe; the clock is the caller's.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "transport/format/units.hpp"
#include "transport/output/pacer.hpp"

namespace l3 {

class line_pace {
public:
  enum class share : std::uint8_t { fresh, backlog };

  explicit line_pace(bit_rate rate) : pacer_(rate, burst) {}

  /// For both, from now on.
  void set_rate(bit_rate rate, std::uint64_t now) {
    const std::lock_guard guard(lock_);
    pacer_.set_rate(rate, now);
    for (lane& l : lanes_) l.waits_until = 0; // by the old rate
  }

  /// Zero if a block may go now (`now` in ns, as steady_now()); else ask again then.
  [[nodiscard]] std::chrono::nanoseconds wait(share who, std::uint64_t now) {
    const std::lock_guard guard(lock_);
    lane& mine = lanes_[index(who)];
    const lane& other = lanes_[1 - index(who)];
    auto time = pacer_.wait(now);
    if (time.count() == 0 && now < other.waits_until && who != preferred()) time = turn;
    if (time.count() > 0)
      mine.waits_until = now + static_cast<std::uint64_t>((time + patience).count());
    return time;
  }

  void sent(share who, std::uint64_t bytes, std::uint64_t now) {
    const std::lock_guard guard(lock_);
    lane& mine = lanes_[index(who)];
    pacer_.sent(bytes, now);
    mine.sent += bytes;
    mine.waits_until = 0;
    if (lanes_[0].sent + lanes_[1].sent < lately) return;
    for (lane& l : lanes_) l.sent /= 2;
  }

private:
  /// poll() wakes late by up to a millisecond or two: that much may be made up for.
  static constexpr std::chrono::nanoseconds burst = std::chrono::milliseconds(4);
  static constexpr std::chrono::nanoseconds turn = std::chrono::milliseconds(1);
  /// Who does not come back for so long after his time has nothing to send any more.
  static constexpr std::chrono::nanoseconds patience = std::chrono::milliseconds(4);

  static constexpr std::uint64_t backlog_part = 4; ///< one in so many bytes
  static constexpr std::uint64_t lately = mebibytes(64).bytes;

  struct lane {
    std::uint64_t sent = 0; ///< lately
    std::uint64_t waits_until = 0;
  };

  static constexpr std::size_t index(share who) { return static_cast<std::size_t>(who); }

  [[nodiscard]] share preferred() const {
    const std::uint64_t backlog = lanes_[index(share::backlog)].sent;
    return backlog * backlog_part < backlog + lanes_[index(share::fresh)].sent ? share::backlog
                                                                               : share::fresh;
  }

  std::mutex lock_;
  pacer pacer_;
  std::array<lane, 2> lanes_{};
};

} // namespace l3
