// SPDX-License-Identifier: Apache-2.0
// What a daemon tells about itself at one moment, as plain numbers. The daemon fills a snapshot
// from its counters twice a second; an answer over HTTP is made of the latest one, so a scrape
// never touches the data path. metrics.hpp describes each number to its readers.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/monitor/state.hpp"
#include "transport/accounting/histogram.hpp"
#include "transport/accounting/ledger.hpp"
#include "transport/format/event_key.hpp"
#include "transport/output/spool_index.hpp"

namespace l3 {

/// What one thread of the input counted.
struct input_snapshot : input_counters {
  std::string name; ///< "udp0", "tcp"
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

/// Where a frame is on its way.
enum class frame_state : std::uint8_t { free, filling, running, draining, count_ };

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
struct engine_snapshot : engine_counters {
  std::uint64_t batches_dumped = 0;
  std::uint64_t batches_not_dumped = 0;
  bool bypassed = false;
};

/// The disk behind the outbox.
struct spool_snapshot : spool_totals {
  std::uint64_t room = 0;    ///< bytes that may still be written
  std::uint64_t spilled = 0; ///< events that found no room in memory
  std::uint64_t write_errors = 0;
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

  ledger account; ///< without its spills
  std::uint32_t node = 0;
  std::vector<input_snapshot> inputs; ///< at most 32
  building_counters building;
  outcome_counters outcomes;
  std::uint64_t fragments_in_flight = 0; ///< seen, and their event neither admitted nor given up
  std::optional<event_key> conflict;     ///< the latest event that came again with other bytes
  std::vector<line_snapshot> lines;      ///< at most 32; none where no selection runs
  std::uint64_t events_not_judged = 0;

  std::array<std::uint32_t, enumerators<frame_state>> frames{};
  engine_snapshot engine;

  std::optional<spool_snapshot> spool;
  std::uint64_t outbox_bytes = 0;
  std::uint64_t outbox_capacity = 0;
  std::uint64_t outbox_blocks = 0;
  std::uint64_t blocks_stored = 0; ///< as the receiver acknowledged
  forward_counters forward;
  bool receiver_connected = false;

  histogram_snapshot compute_time;
  histogram_snapshot drain_time;
  histogram_snapshot event_latency;
};

} // namespace l3
