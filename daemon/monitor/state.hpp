// SPDX-License-Identifier: Apache-2.0
// The phase of a daemon: configured → receiving → draining → stopped. Its troubles are in
// troubles.hpp. Thread-safe; takes no lock.
#pragma once

#include <atomic>
#include <cassert>
#include <cstdint>

#include "transport/accounting/enumerator_names.hpp"

namespace l3 {

enum class phase : std::uint8_t {
  configured, ///< created, not yet receiving
  receiving,
  draining, ///< no new data; the remaining events go to the receiver
  stopped,
  count_
};

/// The state at one moment.
struct state_report {
  phase now = phase::configured;
  bool engine_failed = false; ///< not even the CPU could compute a frame

  /// Whether incoming data are accepted and computed.
  [[nodiscard]] bool ready() const { return now == phase::receiving && !engine_failed; }
};

class daemon_state {
public:
  /// Phases only advance; a phase may be skipped.
  void enter(phase next) {
    [[maybe_unused]] const phase before = phase_.exchange(next);
    assert(before <= next && next < phase::count_);
  }
  void engine_failed() { engine_failed_ = true; }
  [[nodiscard]] state_report report() const { return {phase_.load(), engine_failed_.load()}; }

private:
  std::atomic<phase> phase_ = phase::configured;
  std::atomic<bool> engine_failed_ = false;
};

} // namespace l3
