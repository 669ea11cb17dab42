// SPDX-License-Identifier: Apache-2.0
// The state that a daemon is in, for the page, the service manager and the metrics: configured →
// receiving → draining → stopped. While it receives it may be degraded, for one or several reasons
// of a closed list: degraded keeps data flowing, or sheds it counted; it never stops the daemon.
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
#include "transport/output/settings.hpp"

namespace l3 {

enum class phase : std::uint8_t {
  configured, ///< built, not yet receiving
  receiving,
  draining, ///< no new data; what is left goes to the receiver
  stopped,
  count_
};

enum class trouble : std::uint8_t {
  receiver_absent,    ///< the outbox keeps what it can
  receiver_refuses,   ///< it is there, but stores nothing: most often its disk is full
  receiver_wrong,     ///< it claims to have blocks that it was never sent
  no_frame,           ///< every frame is busy: events are shed
  spilling,           ///< events go to disk for lack of room in memory
  spool_full,         ///< there is no room on disk
  spool_fails,        ///< the disk refuses blocks for another reason than want of room
  no_pause,           ///< no run is in force, and what comes does not pause: none can begin
  spool_waits,        ///< no run is in force, and events on disk wait for the next one
  shedding,           ///< events of low priority are given up
  outbox_full,        ///< events are shed
  engine_error,       ///< kernels failed on the CPU, too: nothing can be computed
  device_lost,        ///< to this process: only a new one can have it again
  engine_bypassed,    ///< the CPU computes what the device should
  crate_fault,        ///< a crate behaves otherwise than the others
  events_incomplete,  ///< many events lack fragments
  hot_inputs,         ///< inputs have pulses most of the time: they spoil decisions
  inputs_changed,     ///< inputs differ from those of the reference run
  histograms_changed, ///< of events: they differ from those of the reference run
  wrong_results,      ///< an event did not unpack to what came in; it was computed again
  count_
};

inline constexpr std::size_t troubles = enumerators<trouble>;

/// What it means and what to do, for the reader of the log. `receiver` is its address.
[[nodiscard]] std::string advice_on(trouble t, std::string_view receiver);

/// The same of receiver_absent, because of the receiver's name.
[[nodiscard]] std::string advice_on(const unknown_receiver& r);

/// The state at one moment.
struct state_report {
  phase now = phase::configured;
  std::array<bool, troubles> has{};

  [[nodiscard]] bool degraded() const;
  /// Data that comes now is taken and computed.
  [[nodiscard]] bool ready() const;
  /// What must be mended first; nothing: no trouble.
  [[nodiscard]] std::optional<trouble> worst() const;
  /// "receiving", "receiving, degraded: receiver_absent outbox_full".
  [[nodiscard]] std::string text() const;
};

class daemon_state {
public:
  /// Phases only go forward; one may be skipped.
  void enter(phase next);
  /// Says that a trouble is present or over; true if that is news.
  bool set(trouble t, bool present);
  [[nodiscard]] state_report report() const;

private:
  std::atomic<phase> phase_ = phase::configured;
  std::atomic<std::uint32_t> troubles_ = 0; // one bit each
};

} // namespace l3
