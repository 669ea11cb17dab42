// SPDX-License-Identifier: Apache-2.0
#include "daemon/monitor/status.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <span>

#include "daemon/monitor/troubles.hpp"

namespace l3 {
namespace {

namespace json = boost::json;

std::string name_in(const auto& element) { return element.name; }
std::string name_in(const crate_account& c) { return std::to_string(c.crate); }

/// The values that `read` finds in the elements of a list, by the element's name.
template <class Element, class Read>
json::object each(const std::vector<Element>& list, Read read) {
  json::object o;
  for (const Element& e : list) o[name_in(e)] = json::value_from(std::invoke(read, e));
  return o;
}

/// The values that `read` finds in the crate reports, in the order of the account's crates.
template <class Read>
json::object by_crate(const metrics_snapshot& s, Read read) {
  json::object o;
  for (std::size_t c = 0; c < s.account.crates.size(); ++c)
    o[name_in(s.account.crates[c])] = json::value_from(std::invoke(read, s.crates[c]));
  return o;
}

json::value fault_name(const crate_report& r) {
  return r.fault ? json::value(name_of(*r.fault)) : nullptr;
}

reason_counts nonzero(reason_counts counts) {
  std::erase_if(counts, [](const auto& reason) { return reason.second == 0; });
  return counts;
}

template <class Enum, class Read>
json::object each(Read read) {
  json::object o;
  for (std::size_t i = 0; i < enumerators<Enum>; ++i)
    o[names_of<Enum>[i]] = read(static_cast<Enum>(i));
  return o;
}

constexpr std::size_t most_inputs_listed = 100;

json::array listed(const std::vector<std::string>& inputs) {
  json::array all;
  for (const std::string& input :
       std::span(inputs).first(std::min(inputs.size(), most_inputs_listed)))
    all.emplace_back(input);
  return all;
}

json::array changes_in(const metrics_snapshot& s) {
  json::array all;
  for (const state_change& c : s.changes)
    all.push_back(json::object{{"at", c.at}, {"text", c.text}});
  return all;
}

json::array spills_in(const metrics_snapshot& s) {
  json::array all;
  std::size_t left = s.latest_spills.size();
  for (const spill_account& p : s.latest_spills) {
    json::object spill{{"spill", p.spill},
                       {"admitted", p.admitted},
                       {"incomplete", p.incomplete},
                       {"missing", p.missing},
                       {"expected", json::value_from(p.expected)}};
    const auto& known = s.spill_outcomes;
    if (const std::size_t n = left--; n <= known.size() && known[known.size() - n]) {
      const spill_counts& is = *known[known.size() - n];
      spill.insert({{"stored", is.stored}, {"rejected", is.rejected}, {"shed", is.shed}});
    }
    all.push_back(std::move(spill));
  }
  return all;
}

json::object one_of(std::initializer_list<std::string_view> names, std::string_view which) {
  json::object o;
  for (const std::string_view name : names) o[name] = name == which;
  return o;
}

/// Returns null if this node is not in a farm.
template <class Read>
json::value of_farm(const metrics_snapshot& s, Read read) {
  return s.farm ? json::value(read(*s.farm)) : json::value(nullptr);
}

json::value farm_states(const farm_report& f) {
  return each<farm_state>([&](farm_state state) { return f.state == state; });
}

json::value farm_standings(const farm_report& f) {
  return each<farm_standing>([&](farm_standing which) { return f.count(which); });
}

json::object summary(const latency_snapshot& h) {
  return {{"count", h.count}, {"median", h.median}, {"p99", h.p99}};
}

} // namespace

std::vector<family> families_of(const metrics_snapshot& s) {
  using enum family::kind;
  const ledger& a = s.account;
  const datagram_account& d = a.datagrams;
  const fragment_account& f = a.fragments;
  const event_account& e = a.events;
  const building_counters& built = s.building;
  const outcome_counters& out = s.outcomes;
  const engine_snapshot& engine = s.engine;
  const forward_counters& sent = s.forward;
  const auto in_spool = [&](std::uint64_t spool_snapshot::*number) {
    return s.spool ? std::optional((*s.spool).*number) : std::nullopt;
  };
  const auto in_shadow = [&](std::uint64_t shadow_snapshot::*number) {
    return s.shadow ? std::optional((*s.shadow).*number) : std::nullopt;
  };
  const std::vector<shadow_line_snapshot> no_lines;
  const auto& shadow_lines = s.shadow ? s.shadow->lines : no_lines;
  std::vector<family> all{
      // The process.
      {"program", "Name of the program.", "koto-l3d"},
      {"version", "Version of the program.", s.version},
      {"commit", "Commit of the sources that it was built from.", s.commit},
      {"backend", "Executor on which the kernels run.", s.backend},
      {"device", "Device or processor that the kernels run on, in words.", s.device},
      {gauge, "memory_planned_bytes", "memory_planned",
       "Upper limit of the memory in bytes; most is allocated at the start.", s.memory_planned},
      {gauge, "build_info{version,commit}", "", "Version and commit of the program.",
       json::object{{s.version, json::object{{s.commit, 1}}}}},
      {gauge, "backend_info{backend,device}", "", "Executor and device on which the kernels run.",
       json::object{{s.backend, json::object{{s.device, 1}}}}},
      {gauge, "start_time_seconds", "", "When the daemon started, since 1970-01-01 UTC.",
       s.started},
      {gauge, "uptime_seconds", "uptime",
       "Seconds since the daemon started, by a clock that never jumps.", s.uptime},
      {"time", "Time of these figures by the node's clock, in seconds since 1970-01-01 UTC.",
       s.time},
      {gauge, "last_run_crashed", "",
       "1 if the run before this start did not end properly, 0 if it did.",
       static_cast<int>(s.last_run_crashed)},
      {gauge, "last_run_lost_events", "",
       "Upper limit of the events that were in memory when the run before this start did not end "
       "properly, including older such runs that no start had reported; 0 if it ended properly.",
       s.last_run_lost},
      {gauge, "ended_run_lost_events{reason}", "ended_run.lost.{reason}",
       "Events that the latest ended run lost: shed, incomplete (and not stored) or "
       "missing; after a start, those shed by the run of the last ledger. The counters of a run "
       "begin at 0, so this also shows what was lost after its last "
       "scrape.",
       s.ended_run.lost},
      {counter, "reloads_total{outcome}", "",
       "Reloads of the configuration; refused: it had mistakes, and nothing changed.",
       json::object{{"applied", s.reloads_applied}, {"refused", s.reloads_refused}}},
      {counter, "log_lines_left_out_total", "log_lines_left_out",
       "Log lines that were dropped: no program reads them, the disk is full, or 256 KiB came at "
       "once.",
       s.log_lines_left_out},
      {gauge, "run_info{run,node}", "", "Numbers of the run and of the node.",
       json::object{{std::to_string(a.run), json::object{{std::to_string(s.node), 1}}}}},
      {"run", "Number of the run.", a.run},
      {"menu", "File and hash of the selection of the run; empty: every event is kept.", a.menu},
      {"comment", "Comment of the person who began the run.", a.comment},
      {"run_state", "State of the run: configured, armed, running or draining.", s.run.state},
      {gauge, "run_state{state}", "", "1 for the state of the run: docs/run-control.md.",
       one_of({"configured", "armed", "running", "draining"}, s.run.state)},
      {counter, "no_run_datagrams_total", "no_run_datagrams",
       "Datagrams that were dropped because no run was active.", s.run.datagrams_without_run},
      {"no_run_crates", "Crates that sent within the last 5 s while no run was active.",
       s.run.crates_without_run},
      {"readout_crates", "Number of crates that `readout.crates` lists.", s.run.readout_crates},
      {"node", "Number of the node.", s.node},
      {"farm.state",
       "State of the node in its farm: `joining`, `joined`, `cut_off`, `refused`, `left`; null "
       "without a farm.",
       of_farm(s, [](const farm_report& farm) { return json::value(name_of(farm.state)); })},
      {gauge, "farm_state{state}", "",
       "1 for the state of the node in its farm; joined: etcd answers and knows it.",
       of_farm(s, &farm_states)},
      {"farm.text", "Problem with the farm, and what to do; empty without one.",
       of_farm(s, [](const farm_report& farm) { return json::value(farm.text); })},
      {gauge, "farm_nodes{stands}", "farm.{stands}",
       "Nodes of the farm, as this one sees them in etcd: in_order, apart (running, but not in the "
       "farm's run), missing (joined and did not leave, but not connected to etcd).",
       of_farm(s, &farm_standings)},
      {counter, "farm_failed_rounds_total", "farm.failed_rounds",
       "Times that etcd did not answer, or refused.",
       of_farm(s, [](const farm_report& farm) { return json::value(farm.failed_rounds); })},
      {counter, "farm_joined_total", "farm.joined",
       "Times that this node joined the farm; more than once: its lease expired, or etcd lost its "
       "data.",
       of_farm(s, [](const farm_report& farm) { return json::value(farm.joined); })},
      {"session", "Session of the outbox, 16 hexadecimal digits.",
       a.sessions.empty() ? "" : session_text(a.sessions.front())},
      {"state.now", "State that the daemon is in.", name_of(s.state.now)},
      {gauge, "state{state}", "", "1 for the state that the daemon is in.",
       each<phase>([&](phase p) { return s.state.now == p; })},
      {gauge, "ready", "state.ready", "1 if incoming data are accepted and computed.",
       s.state.ready()},

      {"changes",
       "The latest changes of the state: `at`, in seconds since 1970-01-01 UTC, and `text`.",
       changes_in(s)},
      {"event_age", "Seconds since the latest event was admitted; null before the first event.",
       s.event_age},
      {"this_spill",
       "Events of the current spill, or of the last one until the next begins: `admitted`, "
       "`incomplete`, `stored`, `rejected`, `shed`, and whether it has `ended`. Events that are in "
       "flight when a spill ends are counted with it until the next one begins. The daemon updates "
       "these twice a second: if spills end between two updates, `admitted` and `incomplete` are "
       "those of the last one, and some of its `stored`, `rejected` and `shed` may belong to the "
       "one before.",
       json::object{{"ended", s.this_spill.ended},
                    {"admitted", s.this_spill.admitted},
                    {"incomplete", s.this_spill.incomplete},
                    {"stored", s.this_spill.stored},
                    {"rejected", s.this_spill.rejected},
                    {"shed", s.this_spill.shed}}},
      {"latest_spills",
       "The latest 100 spills that have ended: `spill`, `admitted`, `incomplete`, `missing` (sent, "
       "and nothing came), `expected` (null if no sender said it), and, if the daemon knows them, "
       "`stored`, `rejected` and `shed` as in `this_spill`.",
       spills_in(s)},
      {"rates",
       "Rates over the last 15 s, from the start of one spill to the start of another, so that "
       "pauses do not count: `datagrams`, of these `refused`; `kernel_drops`, `without_run`; "
       "`bytes_in`; events `admitted`, `kept`, `stored`, `shed_at_selection`, `shed_at_output`; "
       "`bytes_computed`, `bytes_packed`, `bytes_sent`.",
       json::object(s.rates.begin(), s.rates.end())},

      // Input.
      {counter, "datagrams_total{link}", "links[link].datagrams",
       "Datagrams, or over TCP records, received.", each(s.inputs, &input_counters::datagrams)},
      {counter, "received_bytes_total{link}", "links[link].bytes", "Bytes received.",
       each(s.inputs, &input_counters::bytes)},
      {counter, "kernel_drops_total{link}", "links[link].kernel_drops",
       "Datagrams that the kernel dropped because the socket buffer was full.",
       each(s.inputs, &input_counters::kernel_drops)},
      {counter, "refused_total{reason}", "refused.{reason}", "Datagrams and records refused.",
       d.malformed},
      {counter, "chunks_total{kind}", "", "Datagrams accepted, by kind.",
       json::object{{"data", d.data}, {"trailer", d.trailers}, {"end_of_spill", d.end_of_spill}}},
      {counter, "duplicate_chunks_total", "", "Data datagrams dropped as repeats.", d.duplicate},
      {counter, "late_chunks_total", "", "Data datagrams dropped because their event had ended.",
       d.late},
      {counter, "spills_total", "spills", "Spills that ended.", built.spills},

      // Fragments.
      {counter, "fragments_seen_total", "fragments.seen",
       "Fragments of which at least a part arrived.", f.seen},
      {counter, "fragments_total{outcome}", "fragments.{outcome}",
       "Fragments by outcome; duplicate: repeated and dropped, counted once for each event and "
       "crate.",
       json::object{{"admitted", f.admitted},
                    {"incomplete", f.incomplete},
                    {"malformed", sum_of(f.malformed)},
                    {"late", f.late},
                    {"duplicate", f.duplicate}}},
      {counter, "fragments_conflicting_total", "fragments.conflicting",
       "Duplicate fragments of events whose number an earlier event with other bytes had: level 2 "
       "was reset within the run, or two senders use the same numbers.",
       built.fragments_conflicting},
      {counter, "fragments_malformed_total{reason}", "fragments.malformed.{reason}",
       "Fragments whose content was wrong.", f.malformed},
      {gauge, "fragments_in_flight", "fragments.in_flight",
       "Fragments of events that are being built.", s.fragments_in_flight},
      {gauge, "fragments_unaccounted", "fragments.unaccounted",
       "Fragments seen minus those with a known outcome; 0 if nothing was lost silently.",
       unaccounted(f) - static_cast<std::int64_t>(s.fragments_in_flight)},

      // Crates.
      {counter, "crate_fragments_seen_total{crate}", "crates[crate].seen",
       "Fragments of a crate of which at least a part arrived.",
       each(a.crates, &crate_account::seen)},
      {counter, "crate_fragments_missing_total{crate}", "crates[crate].missing",
       "Events that at least half of the crates sent, and that ended without this crate's whole "
       "fragment.",
       each(a.crates, &crate_account::missing)},
      {gauge, "crate_last_fragment_timestamp_seconds{crate}", "crates[crate].last_fragment",
       "When the crate's latest fragment arrived, to half a second, since 1970-01-01 UTC; 0: "
       "never.",
       by_crate(s, &crate_report::last_fragment)},
      {"crates[crate].rate", "Fragments of a crate a second, in the latest half second.",
       by_crate(s, &crate_report::rate)},
      {"crates[crate].fault",
       "Fault of the crate: `other_spill`, `jumped`, `repeats`, `malformed`, `silent`, `loses`, "
       "`overdue`, `drifts`; null without one.",
       by_crate(s, &fault_name)},
      {gauge, "crate_fault{crate}", "",
       "1 for a crate that behaves differently from the others; /status names the fault.",
       by_crate(s, [](const crate_report& r) { return r.fault.has_value(); })},
      {"crates[crate].text", "The fault in words.", by_crate(s, &crate_report::text)},
      {"crates[crate].overdue",
       "Like `crates[crate].missing`, after the event had waited for 250 ms; the fragment may "
       "still come.",
       each(a.crates, &crate_account::overdue)},
      {"crates[crate].alone", "Fragments of events that less than half of the crates sent.",
       each(a.crates, &crate_account::alone)},
      {"crates[crate].astray", "Datagrams of a crate that were refused as `wrong_spill`.",
       each(a.crates, &crate_account::astray)},
      {"crates[crate].admitted", "The crate's part of `fragments`.",
       each(a.crates, &crate_account::admitted)},
      {"crates[crate].incomplete", "The crate's part of `fragments`.",
       each(a.crates, &crate_account::incomplete)},
      {"crates[crate].late", "The crate's part of `fragments`.",
       each(a.crates, &crate_account::late)},
      {"crates[crate].duplicate", "The crate's part of `fragments`.",
       each(a.crates, &crate_account::duplicate)},
      {"crates[crate].malformed",
       "A crate's malformed fragments, by reason; reasons without any are left out.",
       each(a.crates, [](const crate_account& c) { return nonzero(c.malformed); })},
      {"crates[crate].time_ahead",
       "The time stamps of the crate's latest event minus those of the other crates, in seconds.",
       by_crate(s, &crate_report::time_ahead)},

      // Events.
      {counter, "events_admitted_total", "events.admitted", "Events admitted.", e.admitted},
      {counter, "events_total{outcome}", "events.{outcome}", "Admitted events by outcome.",
       json::object{
           {"forwarded", e.forwarded}, {"rejected", e.rejected}, {"shed", sum_of(e.shed)}}},
      {counter, "events_shed_total{reason}", "events.shed.{reason}",
       "Admitted events that were shed.", e.shed},
      {gauge, "events_in_flight", "events.in_flight", "Admitted events in flight.", e.in_flight},
      {gauge, "events_unaccounted", "events.unaccounted",
       "Events admitted minus those with a known outcome; 0 if nothing was lost silently.",
       unaccounted(e)},
      {counter, "events_incomplete_total", "events.incomplete",
       "Events that lacked fragments at their time limit.", built.events_incomplete},
      {counter, "events_missing_total", "events.missing",
       "Events of which nothing arrived, although the crates counted them at the end of the spill.",
       s.ended_spills.missing},
      {counter, "events_parked_total", "events.parked",
       "Events that left the frame in which they began before they ended.", built.parked},
      {counter, "boards_damaged_total", "boards.damaged",
       "Boards that could not be decoded and were stored as they came.", out.boards_damaged},
      {counter, "boards_opaque_total", "boards.opaque",
       "Boards that had compressed their samples themselves.", out.boards_opaque},
      {counter, "computed_bytes_total", "bytes.computed",
       "Bytes of the fragments of computed events, kept or not: divided by packed_bytes_total, "
       "they give the reduction.",
       out.computed_bytes},
      {counter, "waveform_bytes_total", "bytes.waveforms",
       "Bytes of the fragments of packed events.", out.waveform_bytes},
      {counter, "packed_bytes_total", "bytes.packed", "Bytes of packed events.",
       out.packed_bytes.sum()},
      {counter, "payload_events_total{payload}", "payloads.events.{payload}",
       "Packed events by the kept part of their waveforms.", counts_of(out.packed_events)},
      {counter, "payload_bytes_total{payload}", "payloads.bytes.{payload}",
       "Bytes of packed events by the kept part of their waveforms.", counts_of(out.packed_bytes)},

      // Trigger lines.
      {counter, "line_fired_total{line}", "lines[line].fired",
       "Events on which a trigger line fired.", each(s.lines, &line_snapshot::fired)},
      {counter, "line_kept_total{line}", "lines[line].kept",
       "Events on which a trigger line fired and that passed its prescale.",
       each(s.lines, &line_snapshot::kept)},
      {counter, "line_refused_total{line,reason}", "lines[line].refused.{reason}",
       "Events that a line did not keep, by reason, whether another line kept them or not. "
       "Together with those that it kept, these are all judged events.",
       each(s.lines, &line_snapshot::refused)},
      {gauge, "line_prescale{line}", "lines[line].prescale",
       "One in this many of a line's events is kept.", each(s.lines, &line_snapshot::prescale)},
      {counter, "line_shed_total{line}", "lines[line].shed",
       "Events that a line kept and that were shed for lack of room.",
       each(s.lines, &line_snapshot::shed)},
      {gauge, "line_shed_prescale{line}", "lines[line].shed_prescale",
       "While memory and disk are nearly full, one in this many of a line's events is kept, in "
       "addition to its own prescale; 0: none.",
       each(s.lines, &line_snapshot::shed_prescale)},
      {counter, "events_not_judged_total", "events_not_judged",
       "Events with more clusters or hits than there is room for, kept or not.",
       s.events_not_judged},
      {"selection_mode",
       "`select`: the lines decide which events are kept; `record`: every event is kept, and the "
       "lines count what they would do; empty: no selection runs.",
       s.selection_mode},
      {gauge, "selection_mode{mode}", "", "1 for the mode of the selection.",
       one_of({"select", "record"}, s.selection_mode)},
      {counter, "events_recorded_total", "events_recorded",
       "Events that no line kept: the selection would reject them, and its mode `record` keeps "
       "them.",
       s.events_recorded},

      // The shadow menu.
      {"shadow.menu", "File and hash of the shadow menu; null without one.",
       s.shadow ? json::value(s.shadow->menu) : json::value()},
      {"shadow.one_in", "One batch in this many is judged by the shadow menu.",
       s.shadow ? json::value(s.shadow->one_in) : json::value()},
      {counter, "shadow_batches_total{outcome}", "shadow.batches.{outcome}",
       "Batches that the shadow menu was due to judge: judged, or skipped because frames were "
       "scarce.",
       s.shadow ? json::value{{"judged", s.shadow->batches_judged},
                              {"skipped", s.shadow->batches_skipped}}
                : json::value()},
      {counter, "shadow_events_total{kept_by}", "shadow.events.{kept_by}",
       "Events that the shadow menu judged, by which menu keeps them.",
       s.shadow ? json::value{{"both", s.shadow->kept_by_both},
                              {"menu_in_force", s.shadow->kept_by_menu_in_force},
                              {"shadow", s.shadow->kept_by_shadow},
                              {"neither", s.shadow->kept_by_neither}}
                : json::value()},
      {counter, "shadow_packed_bytes_total", "shadow.bytes.shadow",
       "Bytes of the packed events that the shadow menu keeps, of those that it judged.",
       in_shadow(&shadow_snapshot::bytes_shadow)},
      {counter, "shadow_packed_bytes_in_force_total", "shadow.bytes.menu_in_force",
       "Bytes of the packed events that the active menu keeps, of the same events.",
       in_shadow(&shadow_snapshot::bytes_in_force)},
      {counter, "shadow_line_fired_total{line}", "shadow_lines[line].fired",
       "Judged events on which a line of the shadow menu fired.",
       each(shadow_lines, &shadow_line_snapshot::fired)},
      {counter, "shadow_line_kept_total{line}", "shadow_lines[line].kept",
       "Judged events on which a line of the shadow menu fired and that passed its prescale.",
       each(shadow_lines, &shadow_line_snapshot::kept)},
      {gauge, "shadow_line_prescale{line}", "shadow_lines[line].prescale",
       "One in this many of a shadow line's events is kept.",
       each(shadow_lines, &shadow_line_snapshot::prescale)},
      {counter, "shadow_line_lost_total{line}", "shadow_lines[line].lost",
       "Judged events on which the line of this name fired in the active menu, but not in the "
       "shadow menu.",
       each(shadow_lines, &shadow_line_snapshot::only_in_force)},
      {counter, "shadow_line_gained_total{line}", "shadow_lines[line].gained",
       "Judged events on which the line of this name fired in the shadow menu, but not in the "
       "active menu.",
       each(shadow_lines, &shadow_line_snapshot::only_shadow)},
      {"shadow_lines[line].is_in_force", "Whether the active menu has a line of this name.",
       each(shadow_lines, &shadow_line_snapshot::is_in_force)},
      {counter, "histograms_not_stored_total", "histograms_not_stored",
       "Spills whose histograms did not fit into the output stream.", s.histograms_not_stored},
      {gauge, "inputs_changed", "inputs_changed",
       "Inputs whose pedestal, noise, occupancy, time or share of the events that are read out "
       "differs from the reference run of histograms.reference, or that only one of the two runs "
       "has.",
       s.since_reference ? json::value(s.since_reference->inputs) : json::value()},
      {gauge, "histograms_changed", "histograms_changed",
       "Histograms of events that differ from those of the reference run.",
       s.since_reference ? json::value(s.since_reference->histograms) : json::value()},
      {gauge, "hot_inputs", "",
       "Inputs that have pulses most of the time, far more often than the others of their counter.",
       s.hot_inputs ? json::value(s.hot_inputs->size()) : json::value()},
      {"hot_inputs",
       "The first 100 of the inputs that have pulses most of the time; null: no histograms are "
       "made.",
       s.hot_inputs ? json::value(listed(*s.hot_inputs)) : json::value()},

      // The compute side.
      {gauge, "frames{state}", "frames.{state}", "Frames by state.",
       each<frame_state>(
           [&](frame_state state) { return s.frames[static_cast<std::size_t>(state)]; })},
      {"frame_events",
       "Events that a frame holds: frames.events, or the number chosen for the device.",
       s.frame_events},
      {"compute_time",
       "Time a frame spends in the compute stage: `count` of frames, `median`, `p99` (99 % took no "
       "longer).",
       summary(s.compute_time)},
      {"drain_time", "Time a frame spends in the drain stage.", summary(s.drain_time)},
      {"event_latency",
       "Time from the last fragment of an event to the acknowledgement of its block.",
       summary(s.event_latency)},
      {"stage_duration_seconds{stage}",
       "Time a frame spends in a stage.",
       {{"compute", s.compute_time}, {"drain", s.drain_time}}},
      {"event_latency_seconds",
       "Time from the last fragment of an event to the acknowledgement of its block.",
       {{"", s.event_latency}}},
      {"engine_failures",
       "Frames that the device did not compute, or computed wrong, for all reasons together.",
       engine.failures.sum()},
      {counter, "engine_failures_total{kind}", "engine.failures.{kind}",
       "Frames that the device did not compute, or computed wrong.", counts_of(engine.failures)},
      {gauge, "engine_bypassed", "engine.bypassed",
       "1 while the CPU computes in place of the device.", engine.bypassed},
      {gauge, "devices_left_out", "engine.devices_left_out",
       "Devices that failed when the daemon started and compute nothing.", engine.devices_left_out},
      {counter, "bypassed_frames_total", "engine.frames_bypassed",
       "Frames that the CPU computed in the device's place.", engine.frames_bypassed},
      {counter, "engine_restarts_total", "engine.restarts",
       "Times the device was tried again after a failure.", engine.restarts},
      {counter, "verified_events_total", "engine.events_verified",
       "Events that were checked on the CPU: unpacked, compared with their input, decided again.",
       engine.events_verified},
      {counter, "wrong_events_total", "engine.events_wrong",
       "Verified events whose packed bytes or decision were wrong.", engine.events_wrong},
      {counter, "batches_dumped_total", "engine.batches_dumped",
       "Batches on which the device failed and that were written to compute.dumps.",
       engine.batches_dumped},
      {counter, "batches_not_dumped_total", "engine.batches_not_dumped",
       "Batches on which the device failed and that were not written to compute.dumps: another was "
       "being written, or had been a moment before, or there was no room.",
       engine.batches_not_dumped},

      // Output.
      {gauge, "spool_bytes", "spool.bytes",
       "Bytes of blocks on disk that the receiver has not stored.",
       in_spool(&spool_snapshot::bytes)},
      {gauge, "spool_disk_bytes", "spool.disk_bytes", "Bytes of the spool's files.",
       in_spool(&spool_snapshot::disk_bytes)},
      {gauge, "spool_room_bytes", "spool.room", "Bytes that may still be written to the spool.",
       in_spool(&spool_snapshot::room)},
      {gauge, "spool_blocks", "spool.blocks", "Blocks on disk that the receiver has not stored.",
       in_spool(&spool_snapshot::blocks)},
      {gauge, "spool_events", "spool.events",
       "Events on disk that the receiver has not stored; including copies of events that also wait "
       "in memory.",
       in_spool(&spool_snapshot::events)},
      {gauge, "spool_seconds_left", "spool.seconds_left",
       "Time until the spool is full, at the rate of the last minute; absent while its room does "
       "not shrink.",
       s.spool ? json::value_from(s.spool->seconds_left) : json::value()},
      {counter, "spilled_events_total", "spool.spilled",
       "Events that went to disk for lack of room in memory.", in_spool(&spool_snapshot::spilled)},
      {counter, "spool_write_errors_total", "spool.write_errors",
       "Blocks that the disk refused at the first try.", in_spool(&spool_snapshot::write_errors)},
      {counter, "spool_damaged_total", "spool.damaged", "Places on disk where blocks are damaged.",
       in_spool(&spool_snapshot::damaged)},
      {counter, "spool_missing_blocks_total", "spool.missing",
       "Blocks that are missing from the spool; how many events they held is unknown.",
       in_spool(&spool_snapshot::missing)},
      {gauge, "outbox_bytes", "outbox.bytes",
       "Bytes in the outbox: not yet stored by the receiver.", s.outbox_bytes},
      {gauge, "outbox_capacity_bytes", "outbox.capacity", "Bytes that the outbox can hold.",
       s.outbox_capacity},
      {gauge, "outbox_blocks", "outbox.blocks", "Sealed blocks in the outbox.", s.outbox_blocks},
      {counter, "blocks_sent_total", "receiver.blocks_sent", "Blocks sent, repeats not counted.",
       sent.blocks - sent.resent},
      {counter, "blocks_resent_total", "receiver.blocks_resent", "Blocks sent again.", sent.resent},
      {counter, "blocks_stored_total", "receiver.blocks_stored",
       "Blocks that the receiver has stored.", s.blocks_stored},
      {counter, "sent_bytes_total", "bytes.sent", "Bytes of blocks sent, repeats included.",
       sent.bytes},
      {counter, "reconnects_total", "receiver.reconnects",
       "Times the daemon had to say hello to the receiver again.", sent.reconnects},
      {counter, "refusals_total", "receiver.refusals", "Refusals by the receiver.", sent.refusals},
      {counter, "impossible_claims_total", "receiver.impossible_claims",
       "Claims of the receiver to have blocks that were never sent.", sent.impossible},
      {gauge, "output_rate_limit_bytes", "receiver.rate_limit",
       "Bytes a second that forward.rate allows; 0: no limit.", s.output_rate},
      {gauge, "receiver_connected", "receiver.connected", "1 while the receiver answers.",
       s.receiver_connected},
  };
  const std::vector<trouble_row> rows = rows_of(daemon_troubles());
  // They follow the other keys of the state.
  const auto state = std::ranges::find(all, "state.ready", &family::key);
  auto of_troubles =
      families_of(rows, s.troubles, "trouble{name,severity}", "trouble_events{name}");
  all.insert(std::next(state), std::move_iterator(of_troubles.begin()),
             std::move_iterator(of_troubles.end()));
  std::ranges::move(families_of(s.process), std::back_inserter(all));
  return all;
}

} // namespace l3
