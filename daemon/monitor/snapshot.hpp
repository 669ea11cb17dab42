// SPDX-License-Identifier: Apache-2.0
// The numbers that a daemon publishes, as plain values at one moment. The daemon fills a snapshot
// from its counters twice a second. HTTP responses use the latest one, so a scrape never touches
// the data path. families.cpp describes each number.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/farm/farm_report.hpp"
#include "daemon/monitor/crate_watch.hpp"
#include "daemon/monitor/histogram_page.hpp"
#include "daemon/monitor/state.hpp"
#include "monitor/family.hpp"
#include "monitor/process_usage.hpp"
#include "monitor/trouble.hpp"
#include "transport/accounting/ledger.hpp"
#include "transport/format/event_key.hpp"
#include "transport/outbox/settings.hpp"
#include "transport/outbox/spool_index.hpp"

namespace l3 {

/// The counters of one input thread.
struct input_snapshot : input_counters {
  std::string name; ///< "udp0", "tcp0"
};

/// The state of a frame.
enum class frame_state : std::uint8_t {
  free,
  filling,
  running,
  draining,
  held, ///< computed on the CPU, but the device has not copied its input yet
  count_
};

/// Counters of a trigger line.
struct line_snapshot {
  std::string name;
  std::uint32_t prescale = 1;
  std::uint8_t priority = 0; ///< events of higher ones are shed last
  std::uint64_t fired = 0;
  std::uint64_t kept = 0;
  std::uint64_t shed = 0;          ///< of these, shed because of missing room
  std::uint32_t shed_prescale = 1; ///< current; 0: all are shed
  reason_counts refused;           ///< events by the reason why this line did not keep them
};

/// A line of a shadow menu, for the events that it judged.
struct shadow_line_snapshot {
  std::string name;
  std::uint32_t prescale = 1;
  std::uint64_t fired = 0;
  std::uint64_t kept = 0;
  std::uint64_t only_in_force =
      0; ///< events on which the active line of this name fired, but this one did not
  std::uint64_t only_shadow = 0;
  bool is_in_force = false; ///< the active menu has a line of this name
};

/// The events that a shadow menu would keep, counted over the batches that it judged.
struct shadow_snapshot {
  std::string menu; ///< file and hash
  std::uint32_t one_in = 1;
  std::uint64_t batches_judged = 0;
  std::uint64_t batches_skipped = 0; ///< skipped because frames were scarce
  std::uint64_t kept_by_both = 0;
  std::uint64_t kept_by_menu_in_force = 0; ///< but not by the shadow
  std::uint64_t kept_by_shadow = 0;        ///< but not by the active menu
  std::uint64_t kept_by_neither = 0;
  std::uint64_t bytes_in_force = 0; ///< of packed events that each menu keeps
  std::uint64_t bytes_shadow = 0;
  std::vector<shadow_line_snapshot> lines;
};

/// Counters and state of the compute side.
struct engine_snapshot : engine_counters {
  std::uint64_t batches_dumped = 0;
  std::uint64_t batches_not_dumped = 0;
  std::uint32_t devices_left_out = 0; ///< devices that failed at the start
  bool bypassed = false;
};

/// The disk behind the outbox.
struct spool_snapshot : spool_totals {
  std::uint64_t room = 0;    ///< bytes that may still be written
  std::uint64_t spilled = 0; ///< events for which memory had no room
  std::uint64_t write_errors = 0;
  std::optional<double> seconds_left{}; ///< until the disk is full, at the rate of the last minute
};

/// Events since the previous spill ended. Events still in progress at the end of a spill are
/// counted with it until the next one begins.
struct spill_counts {
  std::uint64_t admitted = 0;
  std::uint64_t incomplete = 0;
  std::uint64_t stored = 0;
  std::uint64_t rejected = 0;
  std::uint64_t shed = 0;
  bool ended = false; ///< the spill has ended, and no event of the next one has come
};

struct state_change {
  double at = 0; ///< s since 1970-01-01 UTC
  std::string text;
};

/// The run control's report; without run control a run is active as long as the daemon receives.
struct run_view {
  std::string state = "running";
  std::uint64_t datagrams_without_run = 0;
  std::size_t readout_crates = 0;                ///< as configured
  std::vector<std::uint32_t> crates_without_run; ///< that sent lately
  double beam_without_run = 0; ///< s for which crates have sent without a pause and without a run
  double waits = 0;            ///< s for which a run has waited for a pause of the beam
};

/// States of a node's parts that are not numbers.
struct part_states {
  bool receiver_absent = false;
  bool receiver_silent = false; ///< absent, and was connected
  bool receiver_slow = false;   ///< it was lately
  bool receiver_refuses = false;
  bool receiver_wrong = false; ///< it claims to have blocks that were never sent to it
  bool spilling = false;
  bool spool_full = false;
  bool spool_fails = false;
  bool sheds = false;            ///< by priority
  bool waits_for_outbox = false; ///< frames wait for room
  bool device_lost = false;
  std::string stuck; ///< a thread without progress; empty: none
};

/// Settings that the texts of troubles name.
struct named_settings {
  std::uint32_t chunk_bytes = 0;
  std::uint32_t most_datagrams = 0; ///< of an event with the longest fragments
  bool incomplete_are_kept = false; ///< building.incomplete = "forward"
  std::uint32_t hot_above = 0;      ///< in percent
  std::string reference;
};

/// Losses of the run that ended last, until the next one has ended.
struct ended_run_view {
  std::uint32_t run = 0;
  reason_counts lost = [] { ///< events by reason: those of shed, "incomplete", "missing"
    reason_counts none = counts_of(reason_counters<shed>{});
    none["incomplete"] = none["missing"] = 0;
    return none;
  }();
  bool before_start = false; ///< by its ledger, which an earlier process wrote
};

struct metrics_snapshot {
  static constexpr std::size_t most_spills = 100;

  std::string version;
  std::string commit;
  std::string backend; ///< "pool", "cuda" …
  std::string device;  ///< description of the device
  double started = 0;  ///< s since 1970-01-01 UTC
  double uptime = 0;   ///< s
  double time = 0;     ///< of this look, s since 1970-01-01 UTC
  state_report state;
  part_states parts;
  named_settings named;
  trouble_list troubles;
  std::string receiver;                     ///< its address
  std::optional<unknown_receiver> unknown;  ///< the receiver, if its name has no address
  std::vector<state_change> changes;        ///< the latest ones, in order
  std::optional<double> event_age;          ///< s since the latest event was admitted
  std::vector<spill_account> latest_spills; ///< the latest ended spills, in order
  earlier_spills_account ended_spills;      ///< their sums over the run; read before events
  std::optional<double> spill_age;          ///< s since the latest spill ended
  std::optional<double> data_age;           ///< s since the latest datagram came
  ledger lately;                            ///< the account of some seconds ago, of the same run
  ledger at_admission; ///< that of the look that found the latest admitted event
  spill_counts this_spill;
  /// Outcomes of the last ones of latest_spills where they are known, in order.
  std::vector<std::optional<spill_counts>> spill_outcomes;
  /// A second, over whole cycles of spills, so that pauses do not show.
  std::vector<std::pair<std::string_view, double>> rates;
  std::vector<std::array<double, 3>> history; ///< events admitted, kept and stored a second
  double output_rate = 0;          ///< bytes a second that the output may take; 0: no limit
  bool last_run_crashed = false;   ///< the previous run did not end properly
  std::uint64_t last_run_lost = 0; ///< upper limit: in memory when the previous run crashed
  ended_run_view ended_run;
  std::string ledger_error; ///< why the run that ended last has no final ledger, or this no record
  std::uint64_t reloads_applied = 0;
  std::uint64_t reloads_refused = 0;
  bool last_reload_refused = false;
  std::uint64_t log_lines_left_out = 0;
  process_usage process;
  std::uint64_t memory_planned = 0; ///< upper limit in bytes; most is allocated at the start

  ledger account; ///< without its spills
  run_view run;
  std::optional<farm_report> farm; ///< nothing: this node is not in a farm
  std::uint32_t node = 0;
  std::vector<input_snapshot> inputs; ///< at most 32
  building_counters building;
  std::vector<crate_report> crates; ///< in the order of the account's crates
  outcome_counters outcomes;
  std::uint64_t fragments_in_flight = 0; ///< seen, and their event neither admitted nor given up
  std::vector<line_snapshot> lines;      ///< at most 32; empty without a selection
  std::uint64_t events_not_judged = 0;
  std::string selection_mode; ///< empty without a selection
  std::uint64_t events_recorded = 0;
  std::optional<shadow_snapshot> shadow;
  std::uint64_t histograms_not_stored = 0;         ///< number of spills
  std::optional<reference_report> since_reference; ///< nothing: there is no reference
  /// Addresses; nothing if no histograms are made.
  std::optional<std::vector<std::string>> hot_inputs;

  std::array<std::uint32_t, enumerators<frame_state>> frames{};
  std::uint32_t frame_events = 0; ///< capacity of a frame
  engine_snapshot engine;

  std::optional<spool_snapshot> spool;
  std::uint64_t outbox_bytes = 0;
  std::uint64_t outbox_capacity = 0;
  std::optional<double> outbox_seconds_left; ///< until it is full, at the rate of some seconds
  std::uint64_t outbox_blocks = 0;
  std::uint64_t blocks_stored = 0; ///< acknowledged by the receiver
  forward_counters forward;
  bool receiver_connected = false;

  latency_snapshot compute_time;
  latency_snapshot drain_time;
  latency_snapshot event_latency;
};

} // namespace l3
