// SPDX-License-Identifier: Apache-2.0
#include "daemon/node_parts.hpp"

#include <algorithm>
#include <iterator>
#include <random>
#include <span>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "config/toml/complaints.hpp"
#include "daemon/machine_check.hpp"
#include "daemon/words.hpp"
#include "gpu/memory/numa.hpp"
#include "monitor/log.hpp"
#include "transport/format/batch_capacity.hpp"
#include "transport/system/threads.hpp"

namespace l3 {
namespace {

/// Blocks on disk may stay there: at the end the link is for the blocks in memory.
constexpr auto backlog_drain_time = std::chrono::seconds(1);
/// How long a drain waits for a silent receiver when every block is on disk.
constexpr auto absent_receiver_time = std::chrono::seconds(1);
constexpr std::size_t most_lanes_told = 16;
constexpr auto look_again = std::chrono::milliseconds(1);

loaded_selection load_shadow(const daemon_settings& s) {
  return load_selection(shadow_of(s.selection), s.building.crates, s.run.number);
}

std::optional<loaded_selection> selection_of(const daemon_settings& s) {
  if (s.selection.lines.empty()) return std::nullopt;
  return load_selection(s.selection, s.building.crates, s.run.number);
}

std::optional<shadow_menu> shadow_in(const daemon_settings& s,
                                     const std::optional<loaded_selection>& in_force) {
  if (!in_force || s.selection.shadow.empty()) return std::nullopt;
  return std::optional<shadow_menu>(std::in_place, s.selection.shadow, load_shadow(s), *in_force,
                                    s.compute, frame_capacity(s), s.outbox.codec,
                                    s.selection.shadow_one_in);
}

/// The event display; null if the detector's description does not fit the readout. Without a
/// selection a daemon need not know the detector.
std::optional<event_display> display_of(const daemon_settings& s,
                                        const std::optional<loaded_selection>& selection,
                                        const kept_events& kept) {
  if (selection) return event_display(*selection, s.run.number, kept);
  try {
    detector what = load_detector(s.selection, s.building.crates);
    host_tables tables = make_tables(what, nominal_calibration(what), {}, s.run.number);
    return event_display({std::move(what), {}, std::move(tables), {}}, s.run.number, kept);
  } catch (const std::runtime_error&) {
    return std::nullopt;
  }
}

histogram_names histogram_names_of(const detector& d) {
  histogram_names names{input_addresses(d.crates()), {}};
  for (const veto& v : d.vetoes()) names.counters.push_back(v.name);
  return names;
}

/// By input: the calorimeter, or one of the veto counters; nothing if it does not decide.
std::vector<std::optional<std::uint32_t>> counters_of(const loaded_selection& selection) {
  std::vector<std::optional<std::uint32_t>> counters(selection.what.input_count());
  for (std::uint32_t n = 0; n < counters.size(); ++n) {
    if (selection.tables.inputs[n].kind == input_kind::none) continue;
    const element& e = selection.what.at(n);
    counters[n] = e.what == element::kind::crystal ? 0 : 1U + e.index;
  }
  return counters;
}

/// A random number other than 0.
std::uint64_t draw_session() {
  std::random_device random;
  std::uint64_t session = 0;
  while (session == 0) session = std::uint64_t{random()} << 32U | random();
  return session;
}

block_identity new_lane(const daemon_settings& s) {
  return {draw_session(), s.run.number, s.run.node};
}

std::unique_ptr<spool> spool_of(const daemon_settings& s, stop_question stop) {
  std::unique_ptr<spool> made;
  spool_system system;
  system.stop = std::move(stop);
  if (!s.spool.folder.empty())
    naming_key("spool.folder", [&] { made = std::make_unique<spool>(s.spool, system); });
  return made;
}

/// The source of the blocks on disk.
std::unique_ptr<spool_backlog> backlog_of(spool* disk, const daemon_settings& s) {
  return disk == nullptr ? nullptr : std::make_unique<spool_backlog>(*disk, new_lane(s));
}

} // namespace

node::parts::parts(const daemon_settings& s, std::string configuration, stop_question told_to_stop,
                   std::vector<udp_socket> ports, const std::function<void()>& take_up)
    : settings(s), selection(selection_of(s)), shadow(shadow_in(s, selection)),
      compute(s, selection, std::move(configuration)),
      frames(compute.engine().frames(),
             [this](const frame& f) { return compute.engine().wants(f); }),
      out(s.outbox, new_lane(s), safety, decided_by(s, selection)),
      disk(spool_of(s, std::move(told_to_stop))), backlog(backlog_of(disk.get(), s)),
      spilling(disk ? std::make_unique<spilling_outbox>(
                          s.outbox, s.spool.use, out, *disk, *backlog, safety,
                          largest_packed_event(s.building.crates),
                          [](std::string_view text) { log_warning("{}", text); },
                          decided_by(s, selection), makes_histograms() ? max_settings_bytes : 0)
                    : std::make_unique<spilling_outbox>(out)),
      pace(s.forward.rate), fresh([&] {
        const stay_on near(s.node.input); // also the threads of ZeroMQ
        return forwarder(s.forward, out, pace, link_pace::share::fresh,
                         [](std::string_view text) { log_warning("output link: {}", text); });
      }()),
      sheds(s.run.number, shed_lines()),
      histograms_stored(makes_histograms() ? std::optional<histogram_stream>(
                                                 std::in_place, *spilling, histograms_of_run(),
                                                 histogram_names_of(selection->what))
                                           : std::nullopt),
      hot(makes_histograms()
              ? std::optional<hot_input_watch>(std::in_place, counters_of(*selection),
                                               hot_rule{.above = s.histograms.hot_above})
              : std::nullopt),
      histograms(histogram_inputs(s, selection),
                 [this](std::uint32_t spill, const histogram_sums& sums, std::uint64_t left_out) {
                   hot->note(sums);
                   histograms_stored->add(spill, sums, left_out);
                 }),
      work(
          compute.engine(), frames, *spilling, sheds, outcomes, histograms,
          [this](std::string_view text) { engine_failed(text); }, shadow ? &*shadow : nullptr,
          histograms_stored ? &*histograms_stored : nullptr),
      display(display_of(s, selection, work.kept())),
      builder(s.building, frame_capacity(s), s.frames.age, frames, building, outcomes,
              [this](const spill_summary& ended) { spills.note(ended); }) {
  if (const std::string wrong = wrong_with_outbox(s); !wrong.empty())
    throw std::runtime_error(wrong);
  if (backlog) tell_what_is_wrong_on_disk();
  // Near the network card, or else near the devices, because receive threads write into the frames.
  const stay_on near(s.node.input.empty() ? compute.engine().processors() : s.node.input);
  forward_thread = std::jthread([this](const std::stop_token& stop) {
    name_this_thread("forwarder");
    fresh.run(stop, settings.run.drain_time_limit);
  });
  if (take_up) take_up(); // before any spooled block is sent and anything is received
  if (backlog) start_backlog();
  if (!s.udp.bind.empty() && ports.empty())
    naming_key("udp.bind", [&] { ports = bind_ports(s.udp); });
  if (!ports.empty()) udp.emplace(std::move(ports), s.udp, builder);
  if (!s.tcp.bind.empty()) {
    naming_key("tcp.bind", [&] {
      tcp.emplace(s.tcp, s.run.number, builder, [this] { return safety.up_to(); });
    });
  }
  if (udp && !udp->advice().empty()) log_warning("{}", udp->advice());
  if (selection) log_sequence();
  if (makes_histograms()) begin_histograms();
  const auto engines = compute.engine().memory_plan();
  memory.assign(engines.begin(), engines.end());
  std::ranges::copy(memory_beside_engines(settings, selection,
                                          shadow ? std::optional(shadow->bytes()) : std::nullopt,
                                          disk.get()),
                    std::back_inserter(memory));
  watch_threads();
  state.enter(phase::receiving);
}

void node::parts::wait_for_the_receiver(time_point deadline) const {
  auto here_at = steady_clock::now();
  for (auto now = here_at; now < deadline && out.blocks_waiting() != 0; now = steady_clock::now()) {
    if (fresh.connected() || !spilling->all_on_disk()) here_at = now;
    if (now - here_at >= absent_receiver_time) return;
    std::this_thread::sleep_for(look_again);
  }
}

bool node::parts::makes_histograms() const { return histogram_inputs(settings, selection) != 0; }

/// Everything but the sums.
histogram_set node::parts::histograms_of_run() const {
  histogram_set of;
  of.run = settings.run.number;
  of.node = settings.run.node;
  of.settings = selection->tables.constants.settings;
  of.one_in = settings.histograms.one_in;
  return of;
}

void node::parts::begin_histograms() {
  histograms_shown.emplace(histograms, histograms_of_run(), histogram_names_of(selection->what),
                           settings.histograms.reference);
  if (const std::string& why = histograms_shown->why_no_reference(); !why.empty())
    log_warning("histograms: the run is not compared with a reference: {}", why);
}

std::vector<shedding::line> node::parts::shed_lines() const {
  std::vector<shedding::line> lines;
  for (std::size_t n = 0; selection && n < selection->settings.lines.size(); ++n) {
    const line_entry& l = selection->tables.lines[n];
    lines.push_back({l.id, l.priority});
  }
  return lines;
}

/// Logged even if the run fails to begin, because the next start finds no torn ends any more.
void node::parts::tell_what_is_wrong_on_disk() const {
  const auto& found = disk->found();
  if (found.damaged + found.torn_tails + found.unreadable != 0) {
    log_warning("spool: {} damaged places ({} events or more) are left out, {} torn ends ({} "
                "bytes) were cut off, {} files cannot be read",
                found.damaged, found.damaged_events, found.torn_tails, found.torn_bytes,
                found.unreadable);
  }
  for (const auto& gone :
       std::span(found.gone).first(std::min(found.gone.size(), most_lanes_told))) {
    log_warning("spool: blocks {} to {} of session {:016x} are missing from the spool: their "
                "events are lost, unless the receiver has them",
                gone.first, gone.last, gone.session);
  }
}

/// Starts the second forwarder, for blocks on disk of this and earlier starts.
void node::parts::start_backlog() {
  const auto& found = disk->found();
  if (found.events != 0) {
    log_warning(
        "spool: {} events in {} blocks of {} sessions of earlier starts are on disk; sending them",
        found.events, found.blocks, found.lanes.size());
  }
  old.emplace(settings.forward, *backlog, pace, link_pace::share::backlog,
              [](std::string_view text) { log_warning("output link of the spool: {}", text); });
  backlog_thread =
      std::jthread([this](const std::stop_token& stop) { old->run(stop, backlog_drain_time); });
}

/// Threads that wait for a disk are not watched: a restart does not fix a hanging disk.
void node::parts::watch_threads() {
  progress.add("compute", [this] { return work.compute_turns(); });
  progress.add("drain", [this] { return work.drain_turns(); });
  progress.add("forwarder", [this] { return fresh.turns(); });
  for (std::size_t n = 0; udp && n < udp->inputs(); ++n)
    progress.add(
        "udp", [this, n] { return udp->turns(n) + udp->input(n).datagrams; },
        [this, n] { return udp->has_waiting(n); });
  for (std::size_t n = 0; tcp && n < tcp->inputs(); ++n)
    progress.add(
        "tcp", [this, n] { return tcp->turns(n); }, [this, n] { return tcp->connections(n) != 0; });
}

/// Logs the algorithms that run on each event, and what a person may have overlooked.
void node::parts::log_sequence() const {
  if (settings.selection.calibration.empty()) {
    log_warning("selection: without selection.calibration gains and times are nominal, from the "
                "detector's description");
  }
  if (records())
    log_warning("selection: selection.mode is \"record\": every event is kept, and the lines only "
                "count what they would do");
  if (selection->tables.constants.overfull_lines == 0)
    log_warning("selection: no line has `overfull = true`: every event with more clusters or hits "
                "than there is room for is kept, and is shed after all others when room runs out");
  log_info("selection: the steps are {}", fmt::join(selection->program().sequence, ", "));
}

/// Called when even the CPU could not compute a frame.
void node::parts::engine_failed(std::string_view text) {
  state.engine_failed();
  log_error("engine: {}", text);
}

} // namespace l3
