// SPDX-License-Identifier: Apache-2.0
// A snapshot in which every number is different from 0 and every sum holds.
#pragma once

#include "daemon/monitor/metrics.hpp"

namespace l3 {

inline metrics_snapshot sample_snapshot() {
  metrics_snapshot s;
  s.version = "0.1.0";
  s.backend = "pool";
  s.device = "2 threads";
  s.started = 1.7e9;
  s.uptime = 60;
  s.state.now = phase::receiving;
  s.account.program = "koto-l3d";
  s.account.run = 12;
  s.account.sessions = {0x0123456789abcdefU};
  s.node = 3;

  input_counters input;
  input.datagrams.add(5000);
  input.bytes.add(40'000'000);
  input.kernel_drops.add(2);
  building_counters building;
  outcome_counters outcomes;
  for (std::size_t r = 0; r < reasons<refused>; ++r)
    input.refused.add(static_cast<refused>(r), r + 1);
  for (std::size_t r = 0; r < reasons<malformed>; ++r)
    building.fragments_malformed.add(static_cast<malformed>(r), 1);
  for (std::size_t r = 0; r < reasons<shed>; ++r) outcomes.events_shed.add(static_cast<shed>(r), 1);
  building.data_chunks.add(4000);
  building.trailers.add(900);
  building.ends_of_spill.add(18);
  building.duplicate_chunks.add(4);
  building.late_chunks.add(5);
  building.fragments_admitted.add(1800);
  building.fragments_incomplete.add(17);
  building.fragments_late.add(3);
  building.fragments_duplicate.add(2);
  s.fragments_in_flight = 11;
  building.fragments_seen.add(1800 + 17 + 3 + 2 + reasons<malformed> + s.fragments_in_flight);
  outcomes.events_rejected.add(7);
  building.events_admitted.add(100);
  add_input(s.account, input);
  set_building(s.account, building);
  set_outcomes(s.account, outcomes);
  s.account.events.forwarded = 80;
  s.account.events.in_flight = 100 - 80 - 7 - reasons<shed>;

  s.inputs = {{"udp0", 4000, 32'000'000, 2}, {"tcp", 1000, 8'000'000, 0}};
  s.events_incomplete = 1;
  s.events_parked = 6;
  s.spills = 1;
  s.lines = {{"pi0nunu", 1, 40, 40, 1, 1, {{"trigger", 5}, {"photon_energy_min", 2}}},
             {"minimum_bias", 20, 60, 3, 2, 8, {{"prescale", 7}}}};
  s.events_not_judged = 4;
  s.boards_damaged = 1;
  s.boards_opaque = 2;
  s.waveform_bytes = 58'000'000;
  s.packed_bytes = 19'000'000;
  s.frames = {1, 1, 1, 1};
  s.engine.failures = {{"error", 1}, {"hang", 2}, {"wrong", 3}};
  s.engine.frames_bypassed = 40;
  s.engine.restarts = 5;
  s.engine.events_verified = 60;
  s.engine.events_wrong = 7;
  s.engine.batches_dumped = 8;
  s.engine.batches_not_dumped = 9;
  s.engine.bypassed = true;
  s.spool = spool_snapshot{5 << 20, 8 << 20, 1 << 30, 5, 31, 40, 2, 1, 4};
  s.outbox_bytes = 3 << 20;
  s.outbox_capacity = 256 << 20;
  s.outbox_blocks = 3;
  s.blocks_sent = 18;
  s.blocks_resent = 1;
  s.blocks_stored = 15;
  s.bytes_sent = 19 << 20;
  s.reconnects = 1;
  s.refusals = 1;
  s.receiver_connected = true;
  s.last_run_lost = 17;
  s.reloads_applied = 2;
  s.reloads_refused = 1;
  s.memory_planned = 735'000'000;

  latency_histogram times;
  for (int ms = 1; ms <= 100; ++ms) times.add(std::chrono::milliseconds(ms));
  s.compute_time = s.drain_time = s.event_latency = snapshot_of(times);
  return s;
}

} // namespace l3
