// SPDX-License-Identifier: Apache-2.0
// Which run is in force, and what was asked for: configured → armed → running → draining, and from
// there to configured, or to armed if another run waits. People ask (start, stop); the daemon's
// main thread asks what to do, does it, and says so (run_steps.hpp). A run begins and ends only
// while the beam pauses, so an event never is of two runs. Knows no node, no file and no clock.
// Thread-safe.
//
// A run waits until its node is made, which takes seconds: a stop or another start in that time is
// for a run that waits, until comes_into_force() decides.
//
//                start                 the beam pauses            stop, start: at a pause
//   configured ─────────▶ armed ────────────────────▶ running ─────────────────────────▶ draining
//        ▲                  │ stop                       ▲                                  │
//        ├──────────────────┘                            └── armed ◀── ended, a run waits ──┤
//        └───────────────────────────────────────── ended ─────────────────────────────────┘
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>

namespace l3 {

enum class run_state : std::uint8_t {
  configured, ///< no run is in force; what comes is dropped and counted
  armed,      ///< the next run begins as soon as the beam pauses
  running,    ///< a run is in force
  draining,   ///< it takes nothing any more; its events go to the receiver or to disk
  count_
};

struct run_order {
  std::uint32_t number = 0;
  std::string menu; ///< file of a selection; empty: as configured
  std::string comment;

  friend bool operator==(const run_order&, const run_order&) = default;
};

/// A run that waited was stopped, or another one took its place, while its node was made.
class run_forgotten : public std::runtime_error {
public:
  run_forgotten() : std::runtime_error("it was stopped, or another one took its place") {}
};

class run_control {
public:
  /// What the daemon shall do next.
  enum class step : std::uint8_t { nothing, begin, end };
  struct due_step {
    step what = step::nothing;
    run_order order;            ///< of begin
    std::uint64_t accepted = 0; ///< orders so far, with this one
  };

  struct report {
    run_state state = run_state::configured;
    std::optional<run_order> current; ///< of running, draining, and armed for its last moment
    std::optional<run_order> next;    ///< of armed before, or behind the current one
    bool stopping = false;            ///< the current one ends at the next pause
    std::string failure;              ///< why the last run could not begin

    /// A run of this number is in force or waits.
    [[nodiscard]] bool has(std::uint32_t number) const {
      const auto is_it = [&](const auto& order) { return order && order->number == number; };
      return is_it(current) || is_it(next);
    }
  };

  // Any thread.

  /// The run begins at the next pause; one that is in force ends before. A second call before that
  /// replaces the first. Returns what is then; nothing: the daemon ends, and begins no run.
  [[nodiscard]] std::optional<report> start(run_order next);
  /// The run in force ends at the next pause, and one that waits is forgotten. Returns what is
  /// then; nothing: there was neither.
  [[nodiscard]] std::optional<report> stop();
  /// From now on no run begins; one that waits is forgotten.
  void close();
  [[nodiscard]] report now() const;
  /// The node of this order is about to receive. True: the run is the current one, and ends by what
  /// is asked for from now on. False: no run comes into force, as run_forgotten says.
  [[nodiscard]] bool comes_into_force(const run_order& made);

  // The main thread.

  /// What is to be done when the beam pauses.
  [[nodiscard]] due_step due() const;
  /// As close(), but only while no run is in force and none waits; says whether that is so.
  [[nodiscard]] bool close_if_idle();
  void begun(); ///< the current one
  /// The node of this step could not be made: no run is in force. An order that was accepted since
  /// due() told the step waits on, also if it is the same.
  void failed(const due_step& made, const std::string& why);
  void draining();
  /// `failure`: why the run that has ended could not go on.
  void ended(const std::string& failure = {});

private:
  void settle();

  mutable std::mutex mutex_;
  report is_;
  std::uint64_t accepted_ = 0; ///< orders
  bool closed_ = false;
};

} // namespace l3
