// SPDX-License-Identifier: Apache-2.0
// Logs and sets a node's troubles.
#include <fmt/format.h>

#include "daemon/node_parts.hpp"
#include "daemon/words.hpp"
#include "monitor/log.hpp"

namespace l3 {

void node::parts::tell(trouble t, bool present) {
  // In a drain a trouble ends with the node: a full outbox, for example, when its events are given
  // up.
  const bool ends = state.report().now == phase::draining || state.report().now == phase::stopped;
  if (ends && !present) return;
  if (!state.set(t, present)) return;
  const auto left_out = troubles_told[static_cast<std::size_t>(t)].take(steady_clock::now());
  if (!left_out) return;
  std::string text = present ? "begins: " + advice_on(t, settings.forward.to) : "is over";
  if (*left_out > 0) text += fmt::format(" ({} lines before it left out)", *left_out);
  log_warning("{} {}", name_of(t), text);
}

void node::look_around() {
  parts& p = *parts_;
  const spill_list::news ended = p.spills.fetch();
  const auto frame_counts = p.frames.count_states();
  // An ending forwarder is no trouble.
  if (!p.links_end) p.tell(trouble::receiver_absent, !p.fresh.connected());
  p.tell(trouble::receiver_refuses, p.fresh.refused() || (p.old && p.old->refused()));
  p.tell(trouble::receiver_wrong, p.fresh.is_wrong() || (p.old && p.old->is_wrong()));
  p.tell(trouble::spilling, p.spilling->spilling());
  p.tell(trouble::spool_full, p.spilling->disk_full());
  p.tell(trouble::spool_fails, p.spilling->disk_failing());
  p.tell(trouble::shedding, p.sheds.active());
  p.tell(trouble::outbox_full, p.work.waiting_for_outbox());
  p.tell(trouble::device_lost, p.compute.engine().lost());
  p.tell(trouble::engine_bypassed, p.compute.engine().bypassed());
  p.tell(trouble::wrong_results, p.compute.engine().wrong_results());
  p.tell(trouble::no_frame, frame_counts[static_cast<std::size_t>(frame_state::free)] == 0);
  std::string stuck = p.state.report().now == phase::receiving
                          ? p.progress.stuck(steady_clock::now())
                          : std::string();
  if (!stuck.empty()) log_error("no progress: {}", stuck);
  {
    const std::lock_guard lock(p.look_mutex);
    p.stuck = std::move(stuck);
  }

  const ledger a = p.sums();
  p.pause.look(a.fragments.seen, p.builder.between_spills(), p.builder.open_fragments(),
               steady_clock::now());
  p.sheds_rise.tell(sum_of(a.events.shed));
  p.refusing.tell(sum_of(a.datagrams.malformed));
  p.malforming.tell(sum_of(a.fragments.malformed));
  if (const auto line = p.missing.look(p.building, ended.count != 0, steady_clock::now()))
    log_warning("{}", *line);
  p.tell_crate_faults();
  p.tell_hot_inputs();
  p.tell(trouble::events_incomplete,
         p.incomplete.look(p.building.events_incomplete, p.building.events_admitted));
  p.repeating.tell(a.fragments.duplicate);
  p.dropping.tell(a.datagrams.kernel_drops);
  if (p.disk) {
    p.damaging.tell(p.disk->totals().damaged - p.disk->found().damaged);
    p.disappearing.tell(p.disk->totals().missing);
  }
  p.tell_spills(ended, a);
  p.tell_changes();
}

void node::parts::tell_spills(const spill_list::news& ended, const ledger& so_far) {
  for (const std::string& line : spills_told.note(ended)) log_info("{}", line);
  const auto whole = spills_told.look(steady_clock::now());
  if (!whole) return;
  const event_account& e = so_far.events;
  log_info("{}; so far {} events = {} forwarded + {} rejected + {} shed + {} in flight", *whole,
           e.admitted, e.forwarded, e.rejected, sum_of(e.shed), e.in_flight);
}

void node::parts::tell_crate_faults() {
  const double wall =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  const std::lock_guard lock(look_mutex);
  crates.look(building, steady_clock::now(), wall);
  state.set(trouble::crate_fault, crates.any());
  for (const std::string& text : crates.news()) {
    if (const auto left_out = crate_faults_told.take(steady_clock::now()))
      log_warning("{}{}", text,
                  *left_out > 0 ? fmt::format(" ({} such lines left out)", *left_out) : "");
  }
}

void node::parts::tell_hot_inputs() {
  if (!hot) return;
  auto now = hot->now_hot();
  state.set(trouble::hot_inputs, !now.empty());
  if (now == hot_before) return;
  hot_before = std::move(now);
  const auto left_out = hot_inputs_told.take(steady_clock::now());
  if (!left_out) return;
  std::string text = "no input is hot any more";
  if (!hot_before.empty()) {
    std::vector<std::string> names;
    for (const std::uint32_t n : hot_before) {
      const element& e = selection->what.at(n);
      names.push_back(fmt::format("{} ({})", to_string(selection->what.address_of(e)),
                                  selection->what.name_of(e)));
    }
    text = fmt::format("{}: more than {} % of their waveforms in a spill have a pulse, and five "
                       "times as many as for the median input of their counter; the line {},,,,1 "
                       "in selection.calibration excludes the first one from the next run",
                       first_names(names), settings.histograms.hot_above,
                       to_string(selection->what.address_of(selection->what.at(hot_before[0]))));
  }
  if (*left_out > 0) text += fmt::format(" ({} such lines left out)", *left_out);
  log_warning("hot inputs: {}", text);
}

void node::parts::tell_changes() {
  if (!histograms_shown) return;
  histograms_shown->look(steady_clock::now());
  const auto now = histograms_shown->since_reference();
  if (!now) return;
  state.set(trouble::inputs_changed, now->inputs != 0);
  if (const auto line = inputs_changed.look(now->inputs, now->which_inputs))
    log_warning("{}", *line);
  state.set(trouble::histograms_changed, now->histograms != 0);
  if (const auto line = histograms_changed.look(now->histograms, now->which_histograms))
    log_warning("{}", *line);
}

} // namespace l3
