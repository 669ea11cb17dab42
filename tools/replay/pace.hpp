// SPDX-License-Identifier: Apache-2.0
// A schedule gives every event of a replay its time. A pace keeper sleeps until then, to
// microseconds, and records its delay.
#pragma once

#include <chrono>

#include "tools/replay/destination.hpp"
#include "tools/replay/source.hpp"
#include "transport/accounting/latency_distribution.hpp"
#include "transport/format/time.hpp"

namespace l3 {

/// Times are relative to the start of the replay.
class schedule {
public:
  /// `end_delay`: least time from a spill's last event to its end.
  schedule(replay_rate rate, std::chrono::nanoseconds end_delay)
      : rate_(rate), end_delay_(end_delay) {}

  /// When the next spill begins: with the file's own times, after the cycle of the previous one.
  [[nodiscard]] std::chrono::nanoseconds begin_spill();

  struct slot {
    std::chrono::nanoseconds due{};
    std::chrono::nanoseconds length{}; ///< over which the event's datagrams are spread
  };
  /// The slot of the i-th event of the spill; call it in order. `bytes`: its size on the network.
  slot next_event(const replay_spill& spill, std::size_t i, std::size_t bytes);

  /// When the spill ends. `last`: time of its last event.
  std::chrono::nanoseconds end_spill(const replay_spill& spill, std::chrono::nanoseconds last);

  [[nodiscard]] bool unlimited() const { return rate_.how == replay_rate::kind::unlimited; }

private:
  replay_rate rate_;
  std::chrono::nanoseconds end_delay_;
  std::chrono::nanoseconds spill_begin_{};
  std::chrono::nanoseconds cycle_end_{}; // of the last ended spill
  std::chrono::nanoseconds next_{};      // of the next event or spill end
};

/// Not thread-safe.
class pace_keeper {
public:
  pace_keeper();

  /// Starts or restarts at time 0, and asks the system for exact timers on this thread.
  void start();

  /// Sleeps until `due`, at most 50 ms. Returns true when the time has come and records the delay.
  /// Delays are caught up at most at twice the speed: `spacing` is the usual time between two
  /// calls.
  bool wait(std::chrono::nanoseconds due, std::chrono::nanoseconds spacing);
  /// Waits without recording the delay.
  bool wait_roughly(std::chrono::nanoseconds due) { return sleep_until(start_ + due); }

  /// Time until `due`, at least 0.
  [[nodiscard]] std::chrono::nanoseconds until(std::chrono::nanoseconds due) const;
  /// Records the delay of an action that was due.
  void note(std::chrono::nanoseconds due);

  /// Adds the delays that another one recorded.
  void add(const pace_keeper& other);

  [[nodiscard]] std::chrono::nanoseconds elapsed() const;
  [[nodiscard]] const latency_distribution& delays() const { return delays_; }
  [[nodiscard]] std::chrono::nanoseconds longest_delay() const { return longest_; }

private:
  bool sleep_until(time_point time) const;

  time_point start_{};
  std::chrono::nanoseconds earliest_{}; // of the next event, so that delays are caught up slowly
  std::chrono::nanoseconds spin_{};     // how long to spin at the end of a sleep
  latency_distribution delays_;
  std::chrono::nanoseconds longest_{};
};

} // namespace l3
