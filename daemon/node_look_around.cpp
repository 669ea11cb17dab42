// SPDX-License-Identifier: Apache-2.0
// A node's log lines and its troubles.
#include <algorithm>
#include <span>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "daemon/node_parts.hpp"

namespace l3 {
namespace {

constexpr std::size_t most_lines = 4; // conflicts of any number of spills may be found

} // namespace

void node::parts::tell(trouble t, bool present) {
  if (!state.set(t, present)) return;
  const auto left_out = troubles_told[static_cast<std::size_t>(t)].take(steady_clock::now());
  if (!left_out) return;
  std::string text = present ? "begins: " + advice_on(t, settings.forward.to) : "is over";
  if (*left_out > 0) text += fmt::format(" ({} lines before it left out)", *left_out);
  spdlog::warn("{} {}", name_of(t), text);
}

void node::look_around() {
  parts& p = *parts_;
  const spill_list::news ended = p.spills.fetch();
  const auto frame_counts = p.frames.count_states();
  // A forwarder that has said goodbye at the end is no trouble.
  if (!p.given_up) p.tell(trouble::receiver_absent, !p.fresh.connected());
  p.tell(trouble::receiver_refuses, p.fresh.refused() || (p.old && p.old->refused()));
  p.tell(trouble::receiver_wrong, p.fresh.is_wrong() || (p.old && p.old->is_wrong()));
  p.tell(trouble::spilling, p.spilling->spilling());
  p.tell(trouble::spool_full, p.spilling->disk_full());
  p.tell(trouble::spool_vanishing, p.spilling->disk_vanishing());
  p.tell(trouble::shedding, p.sheds.active());
  p.tell(trouble::outbox_full, p.work.waiting_for_outbox());
  p.tell(trouble::engine_bypassed, p.compute.engine().bypassed());
  p.tell(trouble::wrong_results, p.compute.engine().wrong_results());
  p.tell(trouble::no_frame, frame_counts[static_cast<std::size_t>(frame_state::free)] == 0);
  std::string stuck = p.state.report().now == phase::receiving
                          ? p.progress.stuck(steady_clock::now())
                          : std::string();
  if (!stuck.empty()) spdlog::error("no progress: {}", stuck);
  {
    const std::lock_guard lock(p.look_mutex);
    p.stuck = std::move(stuck);
  }

  const ledger a = p.sums();
  p.sheds_rise.tell(sum_of(a.events.shed));
  p.refusing.tell(sum_of(a.datagrams.malformed));
  p.malforming.tell(sum_of(a.fragments.malformed));
  p.missing.tell(p.building.events_incomplete);
  p.repeating.tell(a.fragments.duplicate);
  p.tell_conflicts(p.builder.fetch_conflicts());
  p.dropping.tell(a.datagrams.kernel_drops);
  if (p.disk) {
    p.damaging.tell(p.disk->totals().damaged - p.disk->found().damaged);
    p.vanishing.tell(p.disk->totals().missing);
  }
  if (ended.count != 0) p.tell_spills(ended, a);
}

void node::parts::tell_spills(const spill_list::news& ended, const ledger& so_far) const {
  for (const spill_summary& e : ended.latest) {
    spdlog::info("spill {}: {} events admitted, {} incomplete, {} sent", e.spill, e.admitted,
                 e.incomplete, e.expected ? std::to_string(*e.expected) : "?");
  }
  if (const auto more = ended.count - ended.latest.size(); more != 0)
    spdlog::info("and {} earlier spills", more);
  spdlog::info("so far: events {} = {} forwarded + {} rejected + {} shed + {} in flight; "
               "fragments {} = {} admitted + {} incomplete + {} "
               "malformed + {} late + {} duplicate + {} conflicting, {} being built",
               so_far.events.admitted, so_far.events.forwarded, so_far.events.rejected,
               sum_of(so_far.events.shed), so_far.events.in_flight, so_far.fragments.seen,
               so_far.fragments.admitted, so_far.fragments.incomplete,
               sum_of(so_far.fragments.malformed), so_far.fragments.late,
               so_far.fragments.duplicate, so_far.fragments.conflicting, builder.open_fragments());
}

void node::parts::tell_conflicts(const std::vector<event_key>& found) {
  for (const event_key& e : std::span(found).last(std::min(found.size(), most_lines))) {
    spdlog::warn("spill {}: event {} came again with other bytes, and is not stored; two senders "
                 "use the same numbers in run {}, or other data are sent as the same run",
                 e.spill, e.number, settings.run.number);
  }
  if (found.size() > most_lines)
    spdlog::warn("and events of {} earlier spills", found.size() - most_lines);
  const std::lock_guard lock(look_mutex);
  if (!found.empty()) conflict = found.back();
}

} // namespace l3
