// SPDX-License-Identifier: Apache-2.0
// A snapshot in which no number is 0, no two are the same, and both sums hold.
#pragma once

#include <boost/pfr.hpp>

#include "daemon/monitor/troubles.hpp"

namespace l3 {

/// Gives each number another value, from 1000 on.
class number_source {
public:
  static constexpr std::size_t crates = 2;

  operator std::uint64_t() { return next_++; } // NOLINT: the next number
  void fill(std::uint64_t& n) { n = next_++; }
  void fill(counter& c) { c.add(next_++); }
  template <class Reason>
  void fill(reason_counters<Reason>& c) {
    for (std::size_t r = 0; r < enumerators<Reason>; ++r) c.add(static_cast<Reason>(r), next_++);
  }
  void fill(crate_counts& c) {
    for (std::size_t crate = 0; crate < crates; ++crate) c.add(crate, next_++);
  }
  template <class Reason>
  void fill(crate_reasons<Reason>& c) {
    for (std::size_t crate = 0; crate < crates; ++crate)
      for (std::size_t r = 0; r < enumerators<Reason>; ++r)
        c.add(crate, static_cast<Reason>(r), next_++);
  }
  template <class Value>
  void fill(crate_latest<Value>& /*values*/) {}
  template <class Struct>
  void fill(Struct& all) {
    boost::pfr::for_each_field(all, [this](auto& field) { fill(field); });
  }

private:
  std::uint64_t next_ = 1000;
};

inline metrics_snapshot sample_snapshot() {
  number_source next;
  metrics_snapshot s;
  s.version = "0.1.0";
  s.commit = "521d2abbbc1a";
  s.backend = "pool";
  s.device = "2 threads";
  s.started = 1.7e9;
  s.uptime = 60;
  s.state.now = phase::receiving;
  s.last_run_crashed = true;
  s.last_run_lost = next;
  s.reloads_applied = next;
  s.reloads_refused = next;
  s.memory_planned = 735'000'000;
  s.account.program = "koto-l3d";
  s.account.run = 12;
  s.account.sessions = {0x0123456789abcdefU};
  s.node = 3;
  s.run.datagrams_without_run = 7;
  farm_report& farm = s.farm.emplace();
  farm.state = farm_state::cut_off;
  farm.text = "etcd does not answer";
  farm.nodes = {{1, farm_standing::in_order, "n1", "running", 12, {}, {}},
                {2, farm_standing::apart, "n2", "configured", {}, "no room", {}},
                {3, farm_standing::missing, {}, {}, {}, {}, {}},
                {4, farm_standing::missing, {}, {}, {}, {}, {}},
                {5, farm_standing::missing, {}, {}, {}, {}, {}}};
  farm.failed_rounds = 17;
  farm.joined = 18;

  s.inputs = {{{}, "udp0"}, {{}, "tcp"}};
  for (input_snapshot& input : s.inputs) next.fill<input_counters>(input);
  next.fill(s.building);
  next.fill(s.outcomes);
  s.fragments_in_flight = next;
  building_counters& b = s.building;
  b.fragments_seen = {};
  b.fragments_seen.add(1, s.fragments_in_flight);
  for (std::size_t c = 0; c < number_source::crates; ++c)
    b.fragments_seen.add(c, b.fragments_admitted[c] + b.fragments_incomplete[c] +
                                b.fragments_malformed.of(c).sum() + b.fragments_late[c] +
                                b.fragments_duplicate[c]);
  b.events_admitted = 100'000;
  for (const input_snapshot& input : s.inputs) add_input(s.account, input);
  set_building(s.account, b);
  set_crates(s.account, b, {{{3}, {11}}});
  s.crates = {{1200, 1.7e9 + 50, 0, 0, 0, {}, {}},
              {7, 1.7e9 + 20, 1e-6, 12, 3, crate_fault::silent,
               "crate 11 is silent: it has sent nothing of the last 1200 events"}};
  set_outcomes(s.account, s.outcomes);
  event_account& e = s.account.events;
  e.forwarded = 80'000;
  e.in_flight = e.admitted - e.forwarded - e.rejected - sum_of(e.shed);

  s.lines = {
      {"pi0nunu", 1, 200, next, next, next, 1, {{"trigger", next}, {"photon_energy_min", next}}},
      {"minimum_bias", 20, 100, next, next, next, 8, {{"prescale", next}}}};
  s.events_not_judged = next;
  s.selection_mode = "record";
  s.histograms_not_stored = 2;
  s.since_reference = {3, "0/3/7, 0/3/8, 12/4/0 (noise)", 1,
                       "calorimeter_energy (mean 1323 MeV, now 910 MeV)"};
  s.hot_inputs = {{"0/3/7", "12/4/0"}};
  s.frames = {101, 102, 103, 104, 199};
  next.fill<engine_counters>(s.engine);
  s.engine.batches_dumped = next;
  s.engine.batches_not_dumped = next;
  s.engine.devices_left_out = 1;
  s.engine.bypassed = true;
  next.fill<spool_totals>(s.spool.emplace());
  s.spool->room = next;
  s.spool->spilled = next;
  s.spool->write_errors = next;
  s.outbox_bytes = next;
  s.outbox_capacity = 256 << 20;
  s.outbox_blocks = next;
  s.blocks_stored = next;
  next.fill(s.forward);
  s.forward.blocks = 20'000; // repeats included
  s.receiver_connected = true;
  s.output_rate = 62'500'000;
  s.log_lines_left_out = next;
  for (auto& [reason, events] : s.ended_run.lost) events = next;
  s.ended_spills.missing = next;
  s.spool->seconds_left = 1.5;
  s.process = {12.5, 1.7e9 - 1, next, next, next, next, next};
  s.events_recorded = next;
  shadow_snapshot& shadow = s.shadow.emplace();
  shadow.menu = "next.toml 00000001";
  shadow.one_in = 10;
  shadow.batches_judged = next;
  shadow.batches_skipped = next;
  shadow.kept_by_both = next;
  shadow.kept_by_menu_in_force = next;
  shadow.kept_by_shadow = next;
  shadow.kept_by_neither = next;
  shadow.bytes_in_force = next;
  shadow.bytes_shadow = next;
  shadow.lines = {{"pi0nunu", 1, next, next, next, next, true}};

  trouble absent;
  absent.name = "receiver_absent";
  absent.how_bad = severity::critical;
  absent.loses = losing::soon;
  absent.seconds_left = 90;
  absent.since = 1.7e9 + 30;
  absent.who = "the shift";
  absent.text = "no receiver answers";
  absent.action = "start it";
  s.troubles.now = {absent};
  s.troubles.shown.assign(daemon_troubles().size(), {true, true, 5});

  latency_distribution times;
  for (int ms = 1; ms <= 100; ++ms) times.add(std::chrono::milliseconds(ms));
  s.compute_time = s.drain_time = s.event_latency = snapshot_of(times);
  return s;
}

} // namespace l3
