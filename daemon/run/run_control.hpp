// SPDX-License-Identifier: Apache-2.0
// The state machine of runs: configured → armed → running → draining, then configured, or armed if
// another run waits. People request a start or a stop. The daemon's main thread asks for the next
// step, takes it, and reports it (run_steps.hpp). A run begins and ends only while the beam pauses,
// so no event belongs to two runs. It uses no node, no file and no clock. Thread-safe.
//
// A run waits until its node is created, which takes seconds. Until comes_into_force() decides, a
// stop or another start applies to a waiting run.
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
  configured, ///< no run is active; incoming data are dropped and counted
  armed,      ///< the next run begins when the beam pauses
  running,    ///< a run is active
  draining,   ///< accepts no more data; its events go to the receiver or to disk
  count_
};

struct run_order {
  std::uint32_t number = 0;
  std::string menu; ///< file of a selection; empty: the configured one
  std::string comment;

  friend bool operator==(const run_order&, const run_order&) = default;
};

/// A waiting run was stopped or replaced while its node was created.
class run_forgotten : public std::runtime_error {
public:
  run_forgotten() : std::runtime_error("it was stopped, or another one took its place") {}
};

class run_control {
public:
  /// The next step of the daemon.
  enum class step : std::uint8_t { nothing, begin, end };
  struct due_step {
    step what = step::nothing;
    run_order order;            ///< of the run to begin
    std::uint64_t accepted = 0; ///< number of orders so far, including this one
  };

  struct report {
    run_state state = run_state::configured;
    std::optional<run_order> current; ///< when running or draining, and in the last moment of armed
    std::optional<run_order> next;    ///< the waiting run, also behind a current one
    bool stopping = false;            ///< the current run ends at the next pause
    std::string failure;              ///< why the last run could not begin

    /// Whether a run of this number is active or waits.
    [[nodiscard]] bool has(std::uint32_t number) const {
      const auto is_it = [&](const auto& order) { return order && order->number == number; };
      return is_it(current) || is_it(next);
    }
  };

  // Any thread.

  /// The run begins at the next pause, after the active run has ended. A second call before the
  /// pause replaces the first. Returns the new state, or nothing if the daemon ends and begins no
  /// run.
  [[nodiscard]] std::optional<report> start(run_order next);
  /// The active run ends at the next pause, and a waiting run is forgotten. Returns the new state,
  /// or nothing if there was neither.
  [[nodiscard]] std::optional<report> stop();
  /// No run begins after this; a waiting run is forgotten.
  void close();
  [[nodiscard]] report now() const;
  /// Call it when the node of this order is about to receive. True: the run is the current one, and
  /// a stop applies to it from now on. False: it was forgotten, as run_forgotten says.
  [[nodiscard]] bool comes_into_force(const run_order& made);

  // For the main thread.

  /// The step to take when the beam pauses.
  [[nodiscard]] due_step due() const;
  /// Closes as close() does, but only if no run is active or waits. Returns whether it did.
  [[nodiscard]] bool close_if_idle();
  void begun(); ///< the current one
  /// The node of this step could not be created: no run is active. An order accepted after due()
  /// returned the step keeps waiting, even if it is the same.
  void failed(const due_step& made, const std::string& why);
  void draining();
  /// `failure`: why the ended run could not continue.
  void ended(const std::string& failure = {});

private:
  void settle();

  mutable std::mutex mutex_;
  report is_;
  std::uint64_t accepted_ = 0; ///< number of orders
  bool closed_ = false;
};

} // namespace l3
