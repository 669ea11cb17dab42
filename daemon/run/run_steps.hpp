// SPDX-License-Identifier: Apache-2.0
// Takes the steps that run control asks for: begins and ends runs while the beam pauses, and ends
// the last run when the daemon ends. A run takes seconds to begin and to end. The host does that on
// another thread while the main thread continues with its metrics and the service manager. It uses
// no node and no clock: tests simulate both.
//
//                 the beam pauses            done                      the beam pauses
//   no run (or armed) ───────▶ beginning ───────────▶ run in force ───────────────────▶ ending
//      ▲                           │ no node              │                              │ done
//      ├───────────────────────────┘       no ledger ─────┼──────────────────────────────▶
//      └──────────────────────────────────────────────────┴──────────────────────────────┘
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "daemon/run/run_control.hpp"
#include "monitor/log.hpp"
#include "transport/format/time.hpp"
#include "transport/input/udp_socket.hpp"
#include "transport/system/reason_of.hpp"

namespace l3 {

/// A beam that never pauses does not hold up a run for longer.
constexpr auto longest_wait_for_a_pause = std::chrono::seconds(60);

struct run_step_limits {
  std::chrono::nanoseconds begin{};
  std::chrono::nanoseconds end{};
};

/// For the main thread. `Host` has the interface of run_host.
template <class Host>
class run_steps {
public:
  /// A start or end that takes longer than its limit has failed: see overdue().
  run_steps(Host& host, run_control& control, const run_step_limits& limits)
      : host_(host), control_(control), limits_(limits) {}

  /// Call it twice a second, and when the host is done. Returns false if no run is active and the
  /// process must end, because it was told to or because its device hangs.
  [[nodiscard]] bool step(bool told_to_end, time_point now) {
    if (doing_ != deed::nothing && host_.busy()) return true;
    finish(now);
    if (hangs_) return false;
    if (told_to_end) control_.close();
    if (doing_ == deed::nothing) begin_what_is_due(told_to_end, now);
    return doing_ != deed::nothing || !told_to_end;
  }

  /// Whether the current step takes too long; the service manager must not be notified any more.
  [[nodiscard]] bool overdue(time_point now) const {
    return doing_ != deed::nothing && now > deadline_;
  }
  /// How long a run has waited for a pause in which it begins or ends.
  [[nodiscard]] std::chrono::nanoseconds waits(time_point now) const {
    return waits_since_ ? now - *waits_since_ : std::chrono::nanoseconds();
  }
  /// Whether a run did not end well.
  [[nodiscard]] bool failed() const { return failed_; }
  /// Whether the device holds work of the last run, so that releasing its memory would wait.
  [[nodiscard]] bool hangs() const { return hangs_; }

private:
  enum class deed : std::uint8_t { nothing, beginning, ending };

  void finish(time_point now) {
    const deed was = std::exchange(doing_, deed::nothing);
    if (was == deed::beginning) finish_beginning(now);
    if (was == deed::ending) finish_ending();
  }

  void begin_what_is_due(bool told_to_end, time_point now) {
    if (told_to_end) {
      if (host_.in_force() == nullptr) return;
      control_.draining();
      return end(sockets_hold::what_to_take, now); // no other node reads the sockets afterwards
    }
    const run_control::due_step due = control_.due();
    const bool is_due = due.what != run_control::step::nothing;
    if (!is_due || !waits_since_) waits_since_ = is_due ? std::optional(now) : std::nullopt;
    const bool cuts = is_due && !host_.pauses() && waits(now) >= longest_wait_for_a_pause;
    if (cuts)
      log_warning("the beam has not paused for {} s: a run {} within a spill, which is cut in two",
                  longest_wait_for_a_pause.count(),
                  due.what == run_control::step::end ? "ends" : "begins");
    if (!is_due || (!cuts && !host_.pauses())) {
      if (host_.in_force() == nullptr) host_.go_without_run();
    } else if (due.what == run_control::step::end) {
      control_.draining();
      end(sockets_hold::what_to_leave, now);
    } else if (host_.start_beginning(due.order, take_up(due.order), cuts)) {
      waits_since_.reset();
      begun_ = due;
      deadline_ = now + limits_.begin;
      doing_ = deed::beginning;
    } else {
      host_.go_without_run();
    }
  }

  /// The host calls it before the new node receives; it throws if the run was stopped or replaced.
  [[nodiscard]] std::function<void()> take_up(const run_order& made) {
    return [this, made] {
      if (!control_.comes_into_force(made)) throw run_forgotten();
    };
  }

  void end(sockets_hold what, time_point now) {
    waits_since_.reset();
    host_.start_ending(what);
    deadline_ = now + limits_.end;
    doing_ = deed::ending;
  }

  void finish_beginning(time_point now) {
    try {
      host_.finish_beginning();
    } catch (const run_forgotten& e) {
      host_.go_without_run(); // like any waiting run, the other run waits for a pause
      return log_info("run {} does not begin: {}", begun_.order.number, e.what());
    } catch (const std::exception& e) {
      log_error("run {} cannot begin: {}", begun_.order.number, reason_of(e));
      return control_.failed(begun_, reason_of(e));
    }
    control_.begun();
    try {
      host_.announce();
    } catch (const std::exception& e) {
      log_error("run {} cannot begin: {}", begun_.order.number, reason_of(e));
      failure_ = reason_of(e);
      control_.draining();
      end(sockets_hold::what_to_leave, now);
    }
  }

  void finish_ending() {
    const auto ended = host_.finish_ending();
    failed_ = failed_ || !ended.well;
    hangs_ = ended.device_hangs;
    control_.ended(std::exchange(failure_, {}));
    if (const auto left = control_.now().next; hangs_ && left)
      log_warning("run {} does not begin: the device hangs, and the process ends", left->number);
  }

  Host& host_;
  run_control& control_;
  run_step_limits limits_;
  deed doing_ = deed::nothing;
  time_point deadline_{};
  std::optional<time_point> waits_since_; // for a pause
  run_control::due_step begun_;           // the step that begins
  std::string failure_;                   // why the run that ends could not begin
  bool failed_ = false;
  bool hangs_ = false;
};

} // namespace l3
