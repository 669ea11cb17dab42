// SPDX-License-Identifier: Apache-2.0
// A node's ledger and snapshot, read from counters only.
#include <algorithm>

#include <fmt/format.h>

#include "daemon/node_parts.hpp"
#include "monitor/log.hpp"
#include "monitor/version.hpp"

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
  a.missing = parts_->spills.in_sum().missing;
  a.clean = a.clean && a.missing == 0;
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
  if (p.selection)
    a.menu = fmt::format("{} {:08x}", p.settings.selection.lines,
                         p.selection->tables.constants.settings);
  if (p.records()) a.recorded = p.work.lines().events_recorded();
  a.sessions = {p.out.lane().identity.session};
  if (p.backlog) {
    a.sessions.push_back(p.backlog->own().identity.session);
    a.spool.emplace();
    a.spool->found = p.disk->found().events;
    a.spool->gone = p.blocks_gone();
    for (const backlog_lane& l : p.backlog->found())
      a.spool->lanes.push_back(
          {l.identity.session, l.delivered, p.disk->lost_events(l.identity.session)});
  }
  // Outcomes are read before origins, so that an event that moves meanwhile counts as in flight and
  // not as lost.
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
  set_crates(a, p.building, p.settings.building.crates);
  for (std::size_t i = 0; p.udp && i < p.udp->inputs(); ++i) add_input(a, p.udp->input(i));
  for (std::size_t i = 0; p.tcp && i < p.tcp->inputs(); ++i) add_input(a, p.tcp->input(i));
  a.ended = p.state.report().now == phase::stopped;
  a.clean = a.ended && a.events.in_flight == (a.spool ? a.spool->waiting : 0) &&
            p.outcomes.events_shed[shed::drain] == 0 && p.lost_on_disk() == 0 &&
            p.blocks_gone() == 0;
  return a;
}

std::uint64_t node::parts::lost_on_disk() const {
  if (!backlog) return 0;
  std::uint64_t events = disk->lost_events(backlog->own().identity.session);
  for (const backlog_lane& l : backlog->found()) events += disk->lost_events(l.identity.session);
  return events;
}

std::uint64_t node::parts::blocks_gone() const { return disk ? disk->totals().missing : 0; }

std::string node::why_ended() const {
  return parts_->disk ? parts_->disk->why_ended() : std::string();
}

std::uint64_t node::lost_on_disk() const { return parts_->lost_on_disk(); }

std::uint64_t node::blocks_gone() const { return parts_->blocks_gone(); }

metrics_snapshot node::snapshot() const {
  const parts& p = *parts_;
  metrics_snapshot s;
  s.version = version();
  s.commit = commit();
  s.backend = backend_name(p.compute.engine());
  s.device = p.compute.engine().name();
  s.started = p.started;
  s.process = usage_of_this_process();
  s.uptime = in_seconds(steady_clock::now() - p.started_at);
  s.state = p.state.report();
  s.parts = p.states();
  s.named = p.names();
  s.receiver = p.settings.forward.to;
  s.unknown = p.fresh.unknown();
  // Read before the other counters: later events then count for the current spill.
  s.ended_spills = p.spills.in_sum();
  s.ended_spills.admitted += p.building.older_admitted;
  s.ended_spills.incomplete += p.building.older_incomplete;
  s.latest_spills = p.spills.latest(metrics_snapshot::most_spills);
  s.memory_planned = sum_of(memory_plan());
  s.account = p.sums();
  s.node = p.settings.run.node;
  for (std::size_t i = 0; p.udp && i < p.udp->inputs(); ++i)
    s.inputs.push_back({p.udp->input(i), fmt::format("udp{}", i)});
  for (std::size_t i = 0; p.tcp && i < p.tcp->inputs(); ++i)
    s.inputs.push_back({p.tcp->input(i), fmt::format("tcp{}", i)});
  s.building = p.building;
  s.outcomes = p.outcomes;
  s.fragments_in_flight = p.builder.open_fragments();
  {
    const std::lock_guard lock(p.look_mutex);
    s.crates = p.crates.reports();
    s.parts.stuck = p.stuck;
  }
  if (p.selection) s.lines = p.line_snapshots();
  s.events_not_judged = p.work.lines().events_not_judged();
  if (p.selection) s.selection_mode = p.records() ? "record" : "select";
  s.events_recorded = p.work.lines().events_recorded();
  if (p.shadow) s.shadow = p.shadow->snapshot();
  if (p.histograms_stored) s.histograms_not_stored = p.histograms_stored->not_stored();
  if (p.histograms_shown) s.since_reference = p.histograms_shown->since_reference();
  if (p.hot) s.hot_inputs = p.hot_inputs();
  s.frames = p.frames.count_states();
  s.frame_events = p.settings.frames.events;
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
  if (p.old) s.forward.bytes.add(p.old->counters().bytes);
  s.receiver_connected = p.fresh.connected();
  s.compute_time = snapshot_of(p.work.compute_time());
  s.drain_time = snapshot_of(p.work.drain_time());
  s.event_latency = snapshot_of(p.out.latency());
  return s;
}

part_states node::parts::states() const {
  part_states s;
  s.receiver_absent = !links_end && !fresh.connected(); // an ending forwarder is no trouble
  s.receiver_silent = fresh.is_silent();
  s.receiver_slow = fresh.is_slow();
  s.receiver_refuses = fresh.refused() || (old && old->refused());
  s.receiver_wrong = fresh.is_wrong() || (old && old->is_wrong());
  s.spilling = spilling->spilling();
  s.spool_full = spilling->disk_full();
  s.spool_fails = spilling->disk_failing();
  s.sheds = sheds.active();
  s.waits_for_outbox = work.waiting_for_outbox();
  s.device_lost = compute.engine().lost();
  return s;
}

named_settings node::parts::names() const {
  return {settings.building.chunk_bytes, settings.building.most_datagrams(),
          settings.building.incomplete == incomplete_events::forward, settings.histograms.hot_above,
          settings.histograms.reference};
}

std::vector<std::string> node::parts::hot_inputs() const {
  std::vector<std::string> names;
  for (const std::uint32_t n : hot->now_hot())
    names.push_back(to_string(selection->what.address_of(selection->what.at(n))));
  return names;
}

bool node::parts::records() const { return selection && selection->tables.constants.record != 0; }

std::vector<line_snapshot> node::parts::line_snapshots() const {
  std::vector<line_snapshot> lines;
  for (const std::string& name : selection->line_names()) {
    const auto n = static_cast<std::uint32_t>(lines.size());
    line_snapshot l{name,
                    selection->tables.lines[n].prescale,
                    selection->tables.lines[n].priority,
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

void node::add_event_pages(http_pages& to) const {
  event_display::add_pages(parts_->display ? &*parts_->display : nullptr, to);
  histogram_page::add_pages(parts_->histograms_shown ? &*parts_->histograms_shown : nullptr, to);
}

std::vector<memory_use> node::memory_plan() const { return parts_->memory; }

// The node calls this twice a second. It compares crates, histograms and threads, and logs spills.

void node::look_around() {
  parts& p = *parts_;
  const time_point now = steady_clock::now();
  const double wall =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  const spill_list::news ended = p.spills.fetch();
  ledger a = p.sums();
  p.pause.look(a.fragments.seen, p.builder.between_spills(), p.builder.open_fragments(), now);
  {
    const std::lock_guard lock(p.look_mutex);
    p.stuck = p.state.report().now == phase::receiving ? p.progress.stuck(now) : std::string();
    const auto& trailers = a.datagrams.malformed[std::string(name_of(refused::discriminator))];
    p.crates.look(p.building, now, wall, a.datagrams.kernel_drops + trailers);
  }
  p.tell_spills(ended, a);
  if (p.histograms_shown) p.histograms_shown->look(now);
}

void node::parts::tell_spills(const spill_list::news& ended, const ledger& so_far) {
  for (const std::string& line : spills_told.note(ended)) log_info("{}", line);
  const auto whole = spills_told.look(steady_clock::now());
  if (!whole) return;
  const event_account& e = so_far.events;
  log_info("{}; so far {} events = {} forwarded + {} rejected + {} shed + {} in flight", *whole,
           e.admitted, e.forwarded, e.rejected, sum_of(e.shed), e.in_flight);
}

} // namespace l3
