// SPDX-License-Identifier: Apache-2.0
// Everything that a daemon tells about itself, as plain numbers, and how Prometheus reads it. The
// daemon fills a snapshot from its counters twice a second; a scrape only formats the latest one,
// so it never touches the data path. docs: each family's help text; names, label sets and units
// follow the conventions of Prometheus.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/monitor/state.hpp"
#include "transport/accounting/histogram.hpp"
#include "transport/accounting/ledger.hpp"

namespace l3 {

/// What one thread of the input counted.
struct input_snapshot {
  std::string name;            ///< "udp0", "tcp"
  std::uint64_t datagrams = 0; ///< or, over TCP, records
  std::uint64_t bytes = 0;
  std::uint64_t kernel_drops = 0;
};

/// A histogram in the form that Prometheus wants.
struct histogram_snapshot {
  static constexpr std::array<std::uint64_t, 16> bounds{
      100'000,       200'000,       500'000,       1'000'000,     2'000'000,   5'000'000,
      10'000'000,    20'000'000,    50'000'000,    100'000'000,   200'000'000, 500'000'000,
      1'000'000'000, 2'000'000'000, 5'000'000'000, 10'000'000'000}; // ns

  std::array<std::uint64_t, bounds.size()> up_to{}; ///< entries at or below each bound
  std::uint64_t count = 0;
  double sum = 0;    ///< s
  double median = 0; ///< s
  double p99 = 0;    ///< s: 99 % took no longer
};
[[nodiscard]] histogram_snapshot snapshot_of(const latency_histogram& h);

/// In the order of frame_state.
inline constexpr std::array<const char*, 4> frame_state_names{"free", "filling", "running",
                                                              "draining"};

/// A trigger line's counts.
struct line_snapshot {
  std::string name;
  std::uint32_t prescale = 1;
  std::uint64_t fired = 0;
  std::uint64_t kept = 0;
  std::uint64_t shed = 0;          ///< of these, given up for want of room
  std::uint32_t shed_prescale = 1; ///< now; 0: all are given up
  reason_counts refused; ///< of the events that were rejected, by why this line did not keep them
};

/// What the compute side went through.
struct engine_snapshot {
  reason_counts failures; ///< frames, by kind
  std::uint64_t frames_bypassed = 0;
  std::uint64_t restarts = 0;
  std::uint64_t events_verified = 0;
  std::uint64_t events_wrong = 0;
  std::uint64_t batches_dumped = 0;
  std::uint64_t batches_not_dumped = 0;
  bool bypassed = false;
};

/// The disk behind the outbox.
struct spool_snapshot {
  std::uint64_t bytes = 0;      ///< of blocks not stored by the receiver
  std::uint64_t disk_bytes = 0; ///< of its files
  std::uint64_t capacity = 0;   ///< bytes that may still be written
  std::uint64_t blocks = 0;
  std::uint64_t events = 0;
  std::uint64_t spilled = 0; ///< events that found no room in memory
  std::uint64_t write_errors = 0;
  std::uint64_t damaged = 0; ///< blocks, or stretches between blocks, set aside
  std::uint64_t missing = 0; ///< blocks whose segment is gone
};

struct metrics_snapshot {
  std::string version;
  std::string backend; ///< "pool", "cuda" …
  std::string device;  ///< what it runs on, in words
  double started = 0;  ///< s since 1970-01-01 UTC
  double uptime = 0;   ///< s
  state_report state;
  std::uint64_t last_run_lost = 0; ///< at most: in memory when the run before crashed
  std::uint64_t reloads_applied = 0;
  std::uint64_t reloads_refused = 0;
  std::uint64_t memory_planned = 0; ///< bytes allocated at the start; nothing large is later

  ledger account; ///< run, session, and what became of datagrams, fragments, events; its spills are
                  ///< not used
  std::uint32_t node = 0;
  std::vector<input_snapshot> inputs;    ///< at most 32
  std::uint64_t fragments_in_flight = 0; ///< seen, and their event neither admitted nor given up
  std::uint64_t events_incomplete = 0;
  std::uint64_t events_parked = 0;
  std::uint64_t spills = 0;
  std::vector<line_snapshot> lines; ///< at most 32; none where no selection runs
  std::uint64_t events_not_judged = 0;
  std::uint64_t boards_damaged = 0;
  std::uint64_t boards_opaque = 0;
  std::uint64_t waveform_bytes = 0; ///< fragments of the events that were packed
  std::uint64_t packed_bytes = 0;

  std::array<std::uint32_t, frame_state_names.size()> frames{};
  engine_snapshot engine;

  std::optional<spool_snapshot> spool;
  std::uint64_t outbox_bytes = 0;
  std::uint64_t outbox_capacity = 0;
  std::uint64_t outbox_blocks = 0;
  std::uint64_t blocks_sent = 0; ///< repeats not counted
  std::uint64_t blocks_resent = 0;
  std::uint64_t blocks_stored = 0; ///< as the receiver acknowledged
  std::uint64_t bytes_sent = 0;    ///< repeats included
  std::uint64_t reconnects = 0;
  std::uint64_t refusals = 0; ///< by the receiver
  bool receiver_connected = false;

  histogram_snapshot compute_time;
  histogram_snapshot drain_time;
  histogram_snapshot event_latency;
};

// The conservation sums of docs/architecture.md, left side minus right side; 0 if all is accounted
// for. Counters are read while they move, so a figure of a running daemon may be off for one
// snapshot by what happened during its making.
[[nodiscard]] std::int64_t events_unaccounted(const metrics_snapshot& s);
[[nodiscard]] std::int64_t fragments_unaccounted(const metrics_snapshot& s);

/// The Prometheus text format. The number of series depends on the numbers of links and lines only.
[[nodiscard]] std::string render_metrics(const metrics_snapshot& s);

} // namespace l3
