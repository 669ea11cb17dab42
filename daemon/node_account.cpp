// SPDX-License-Identifier: Apache-2.0
// A node's account: the ledger's sums and the snapshot, read from counters only.
#include "daemon/node_parts.hpp"

#include <fmt/format.h>

namespace l3 {
namespace {

/// "pool" of "pool (2 threads)".
std::string backend_name(const engine& e) {
  const std::string_view name = e.name();
  return std::string(name.substr(0, name.find(' ')));
}

} // namespace

ledger node::account() const {
  ledger a = parts_->sums();
  a.spills = parts_->spills.all();
  a.earlier_spills = parts_->spills.earlier();
  a.earlier_spills.admitted += parts_->building.older_admitted;
  a.earlier_spills.incomplete += parts_->building.older_incomplete;
  return a;
}

ledger node::parts::sums() const {
  const parts& p = *this;
  ledger a;
  a.program = "koto-l3d";
  a.run = p.settings.run.number;
  a.sessions = {p.out.lane().identity.session};
  if (p.backlog) {
    a.sessions.push_back(p.backlog->own().identity.session);
    a.spool.emplace();
    a.spool->found = p.disk->found().events;
    for (const backlog_lane& l : p.backlog->found())
      a.spool->lanes.push_back(
          {l.identity.session, l.delivered, p.disk->lost_events(l.identity.session)});
  }
  // Outcomes before origins: an event that moves meanwhile then counts as in flight, not as lost.
  set_outcomes(a, p.outcomes);
  a.events.forwarded = p.out.events_stored();
  if (p.backlog) {
    a.events.forwarded += p.backlog->own().delivered;
    a.events.shed[std::string(name_of(shed::spool))] +=
        p.disk->lost_events(p.backlog->own().identity.session);
    a.spool->waiting = p.spilling->events_on_disk();
  }
  a.events.in_flight = p.builder.batched_events() + p.frames.events_under_way() +
                       (p.given_up ? p.spilling->events_on_disk()
                                   : p.out.events_waiting() + p.spilling->events_waiting());
  set_building(a, p.building);
  for (std::size_t i = 0; p.udp && i < p.udp->inputs(); ++i) add_input(a, p.udp->input(i));
  if (p.tcp) add_input(a, p.tcp->input());
  a.clean = p.state.report().now == phase::stopped &&
            a.events.in_flight == (a.spool ? a.spool->waiting : 0) &&
            p.outcomes.events_shed[shed::drain] == 0;
  return a;
}

metrics_snapshot node::snapshot() const {
  const parts& p = *parts_;
  metrics_snapshot s;
  s.version = L3_VERSION;
  s.backend = backend_name(p.compute.engine());
  s.device = p.compute.engine().name();
  s.started = p.started;
  s.uptime = in_seconds(steady_clock::now() - p.started_at);
  s.state = p.state.report();
  for (const memory_use& use : memory_plan()) s.memory_planned += use.bytes;
  s.account = p.sums();
  s.node = p.settings.run.node;
  for (std::size_t i = 0; p.udp && i < p.udp->inputs(); ++i) {
    s.inputs.push_back({p.udp->input(i), fmt::format("udp{}", i)});
  }
  if (p.tcp) s.inputs.push_back({p.tcp->input(), "tcp"});
  s.building = p.building;
  s.outcomes = p.outcomes;
  s.fragments_in_flight = p.builder.open_fragments();
  {
    const std::lock_guard lock(p.look_mutex);
    s.conflict = p.conflict;
  }
  if (p.selection) s.lines = p.line_snapshots();
  s.events_not_judged = p.work.lines().events_not_judged();
  s.frames = p.frames.count_states();
  s.engine = p.compute.snapshot();
  if (p.disk) {
    s.spool = {p.disk->totals(), p.spilling->disk_room(), p.spilling->events_spilled(),
               p.spilling->write_errors()};
  }
  s.outbox_bytes = p.out.bytes_waiting();
  s.outbox_capacity = p.out.capacity();
  s.outbox_blocks = p.out.blocks_waiting();
  s.blocks_stored = p.out.last_stored();
  s.forward = p.fresh.counters();
  s.receiver_connected = p.fresh.connected();
  s.compute_time = snapshot_of(p.work.compute_time());
  s.drain_time = snapshot_of(p.work.drain_time());
  s.event_latency = snapshot_of(p.out.latency());
  return s;
}

std::vector<line_snapshot> node::parts::line_snapshots() const {
  std::vector<line_snapshot> lines;
  for (const std::string& name : selection->line_names()) {
    const auto n = static_cast<std::uint32_t>(lines.size());
    line_snapshot l{name,
                    selection->tables.lines[n].prescale,
                    work.lines().fired(n),
                    work.lines().kept(n),
                    sheds.events_shed(n),
                    sheds.prescale(n),
                    {}};
    for (std::uint32_t reason = line_fired + 1; reason < line_counts::reasons; ++reason) {
      if (const std::uint64_t count = work.lines().refused(n, reason); count != 0)
        l.refused[name_of_reason(static_cast<std::uint8_t>(reason))] = count;
    }
    lines.push_back(std::move(l));
  }
  return lines;
}

std::vector<memory_use> node::memory_plan() const {
  const auto plan = parts_->compute.engine().memory_plan();
  std::vector<memory_use> all(plan.begin(), plan.end());
  all.push_back({"outbox", parts_->out.bytes()});
  const std::uint64_t links = parts_->disk ? 2 : 1;
  all.push_back({"messages of the receiver", links * memory_of_answers.bytes});
  if (parts_->disk)
    all.push_back({"blocks on their way to and from disk", parts_->spilling->bytes()});
  if (parts_->tcp)
    all.push_back(
        {"connections of senders over TCP",
         tcp_receiver::memory_plan(parts_->settings.tcp, parts_->settings.building.crates)});
  all.push_back({"parked events", parts_->builder.parking_bytes()});
  all.push_back({"tables of event building", parts_->builder.table_bytes()});
  return all;
}

} // namespace l3
