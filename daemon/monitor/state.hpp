// SPDX-License-Identifier: Apache-2.0
// The state of a daemon for the page, the service manager and the metrics: configured → receiving →
// draining → stopped. A receiving daemon may be degraded for one or more reasons of a closed list.
// A degraded daemon keeps data flowing, or sheds events and counts them; it never stops.
// Thread-safe; takes no lock.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "transport/accounting/enumerator_names.hpp"
#include "transport/outbox/settings.hpp"

namespace l3 {

enum class phase : std::uint8_t {
  configured, ///< created, not yet receiving
  receiving,
  draining, ///< no new data; the remaining events go to the receiver
  stopped,
  count_
};

enum class trouble : std::uint8_t {
  receiver_absent,    ///< the outbox keeps what fits
  receiver_refuses,   ///< it is present, but stores nothing: most often its disk is full
  receiver_wrong,     ///< it claims to have blocks that were never sent to it
  no_frame,           ///< every frame is busy: events are shed
  spilling,           ///< events go to disk because memory is full
  spool_full,         ///< the disk is full
  spool_fails,        ///< writing to disk fails for another reason
  no_pause,           ///< no run is active, and the data do not pause, so none can begin
  spool_waits,        ///< no run is active, and events on disk wait for the next one
  shedding,           ///< events of low priority are dropped
  outbox_full,        ///< events are shed
  engine_error,       ///< kernels failed on the CPU, too: nothing can be computed
  device_lost,        ///< only a new process can use it again
  engine_bypassed,    ///< the CPU computes in place of the device
  crate_fault,        ///< a crate behaves differently from the other crates
  events_incomplete,  ///< many events lack fragments
  hot_inputs,         ///< inputs have pulses most of the time and spoil decisions
  inputs_changed,     ///< inputs differ from those of the reference run
  histograms_changed, ///< event histograms differ from those of the reference run
  wrong_results,      ///< an event did not unpack to its input; it was computed again
  count_
};

inline constexpr std::size_t troubles = enumerators<trouble>;

/// Explains the trouble and its remedy, for the log. `receiver` is the receiver's address.
[[nodiscard]] std::string advice_on(trouble t, std::string_view receiver);

/// Advice on receiver_absent if the receiver's name has no address.
[[nodiscard]] std::string advice_on(const unknown_receiver& r);

/// The state at one moment.
struct state_report {
  phase now = phase::configured;
  std::array<bool, troubles> has{};

  [[nodiscard]] bool degraded() const;
  /// Whether incoming data are accepted and computed.
  [[nodiscard]] bool ready() const;
  /// The trouble to fix first; empty in the healthy state.
  [[nodiscard]] std::optional<trouble> worst() const;
  /// "receiving", "receiving, degraded: receiver_absent outbox_full".
  [[nodiscard]] std::string text() const;
};

class daemon_state {
public:
  /// Phases only advance; a phase may be skipped.
  void enter(phase next);
  /// Sets or clears a trouble. Returns true if that changed it.
  bool set(trouble t, bool present);
  [[nodiscard]] state_report report() const;

private:
  std::atomic<phase> phase_ = phase::configured;
  std::atomic<std::uint32_t> troubles_ = 0; // one bit each
};

} // namespace l3
