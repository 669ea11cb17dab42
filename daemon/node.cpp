// SPDX-License-Identifier: Apache-2.0
#include "daemon/node.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <mutex>
#include <span>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <utility>

#include <spdlog/spdlog.h>

#include "daemon/compute_side.hpp"
#include "daemon/frame_ring.hpp"
#include "daemon/log.hpp"
#include "daemon/naming_key.hpp"
#include "daemon/pipeline.hpp"
#include "daemon/progress_watch.hpp"
#include "selection/load_selection.hpp"
#include "transport/accounting/thread_name.hpp"
#include "transport/format/batch_capacity.hpp"
#include "transport/input/event_builder.hpp"
#include "transport/input/tcp_receiver.hpp"
#include "transport/input/udp_receiver.hpp"
#include "transport/output/forwarder.hpp"
#include "transport/output/outbox.hpp"
#include "transport/output/spilling_outbox.hpp"
#include "transport/output/spool_backlog.hpp"

namespace l3 {
namespace {

/// How long a drain waits before it looks again whether a frame is free.
constexpr auto frame_wait = std::chrono::milliseconds(1);
/// What is on disk may stay there: at the end the line is for what is in memory.
constexpr auto backlog_drain_time = std::chrono::seconds(1);
/// Of the time for draining, for bringing to disk what the receiver did not take.
constexpr auto time_to_close = std::chrono::milliseconds(500);
/// With everything on disk, a receiver that does not answer is not waited for any longer.
constexpr auto absent_receiver_time = std::chrono::seconds(1);

std::optional<loaded_selection> selection_of(const daemon_settings& s) {
  if (s.selection.lines.empty()) return std::nullopt;
  return load_selection(s.selection, s.building.crates, s.run.number);
}

/// The largest packed event: every board raw, every table there.
std::size_t largest_packed_event(const readout& crates) {
  return crates.size() * (l2::max_fragment_bytes + sizeof(packed_fragment)) +
         crates.boards() * sizeof(packed_board) + 2 * sizeof(packed_event) +
         packed_summary_bytes(max_lines, max_summary_photons);
}

block_identity new_lane(const daemon_settings& s) {
  return {random_session(), s.run.number, s.run.node};
}

std::unique_ptr<spool> spool_of(const daemon_settings& s) {
  std::unique_ptr<spool> made;
  if (!s.spool.folder.empty())
    naming_key("spool.folder", [&] { made = std::make_unique<spool>(s.spool); });
  return made;
}

double seconds_since_epoch() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// Warns that a count has risen: the first time at once, then now and then.
class rising_count {
public:
  explicit rising_count(const char* what) : what_(what) {}

  void tell(std::uint64_t count) {
    const std::uint64_t more = count - std::exchange(last_, count);
    const auto now = std::chrono::steady_clock::now();
    if (const auto n = more != 0 ? speaking_.happened(now, more) : speaking_.due(now))
      spdlog::warn("{} {}", *n, what_);
  }

private:
  const char* what_;
  std::uint64_t last_ = 0;
  occasional speaking_{std::chrono::seconds(5)};
};

} // namespace

// Built from the output to the input, so that each part finds what it hands to; ended the other way
// round.
struct node::parts {
  parts(const daemon_settings& s, std::string configuration)
      : settings(s), selection(selection_of(s)), compute(s, selection, std::move(configuration)),
        frames(compute.engine().frames()), out(s.outbox, new_lane(s)), disk(spool_of(s)),
        backlog(disk ? std::make_unique<spool_backlog>(*disk, new_lane(s)) : nullptr),
        spilling(disk ? std::make_unique<spilling_outbox>(
                            s.outbox, s.spool.use, out, *disk, *backlog,
                            largest_packed_event(s.building.crates),
                            [](std::string_view text) { spdlog::warn("{}", text); })
                      : std::make_unique<spilling_outbox>(out)),
        pace(s.forward.rate),
        line(s.forward, out, pace, line_pace::share::fresh,
             [](std::string_view text) { spdlog::warn("output line: {}", text); }),
        sheds(s.run.number, shed_lines()),
        work(compute.engine(), frames, *spilling, sheds, outcomes,
             [this](std::string_view text) { engine_failed(text); }),
        builder(s.building, frame_capacity(s), s.frames.age, frames, building, outcomes,
                [this](const spill_summary& summary) { end_of_spill(summary); }),
        forward_thread([this](std::stop_token stop) {
          name_this_thread("forwarder");
          line.run(std::move(stop), settings.run.drain_time_limit);
        }) {
    if (backlog) start_backlog();
    if (out.capacity() < 2 * largest_packed_event(s.building.crates)) {
      throw std::runtime_error("outbox.memory is too small: it must hold two events");
    }
    if (!s.udp.bind.empty()) naming_key("udp.bind", [&] { udp.emplace(s.udp, builder); });
    if (!s.tcp.bind.empty()) {
      naming_key("tcp.bind", [&] {
        tcp.emplace(s.tcp, s.run.number, builder, [this] { return out.safety().up_to(); });
      });
    }
    if (udp && !udp->advice().empty()) spdlog::warn("{}", udp->advice());
    if (selection) log_sequence();
    progress.add("compute", [this] { return work.compute_turns(); });
    progress.add("drain", [this] { return work.drain_turns(); });
    state.enter(phase::receiving);
  }

  /// Until it has stored what is in memory; not for long if that has copies on disk and nobody
  /// answers.
  void wait_for_the_receiver(std::chrono::steady_clock::time_point deadline) const {
    auto here_at = std::chrono::steady_clock::now();
    for (auto now = here_at; now < deadline && out.blocks_waiting() != 0;
         now = std::chrono::steady_clock::now()) {
      if (line.connected() || !spilling->all_on_disk()) here_at = now;
      if (now - here_at >= absent_receiver_time) return;
      std::this_thread::sleep_for(frame_wait);
    }
  }

  [[nodiscard]] std::vector<shedding::line> shed_lines() const {
    std::vector<shedding::line> lines;
    for (std::size_t n = 0; selection && n < selection->settings.lines.size(); ++n) {
      const line_entry& l = selection->tables.lines[n];
      lines.push_back({l.id, l.priority});
    }
    return lines;
  }

  /// A forwarder of its own for what lies on disk, from now or from before.
  void start_backlog() {
    const auto& found = disk->found();
    if (found.events != 0) {
      spdlog::warn(
          "spool: {} events in {} blocks of {} earlier starts are on disk, and are sent now",
          found.events, found.blocks, found.lanes.size());
    }
    if (found.damaged + found.torn_tails + found.unreadable != 0) {
      spdlog::warn("spool: {} damaged places ({} events or more) and {} torn ends ({} bytes) were "
                   "set aside, {} files cannot be read",
                   found.damaged, found.damaged_events, found.torn_tails, found.torn_bytes,
                   found.unreadable);
    }
    backlog_line.emplace(
        settings.forward, *backlog, pace, line_pace::share::backlog,
        [](std::string_view text) { spdlog::warn("output line of the spool: {}", text); });
    backlog_thread = std::jthread(
        [this](std::stop_token stop) { backlog_line->run(std::move(stop), backlog_drain_time); });
  }

  /// What runs on each event, and where its results lie.
  void log_sequence() const {
    if (settings.selection.calibration.empty()) {
      spdlog::warn("selection: without selection.calibration gains and times are those of the "
                   "detector's description, as the simulator has them");
    }
    std::istringstream lines(describe_sequence(selection->settings, frame_capacity(settings)));
    for (std::string text; std::getline(lines, text);) spdlog::info("selection: {}", text);
  }

  // Called by whichever receive thread noticed the end of a spill: only notes it down.
  void end_of_spill(const spill_summary& summary) {
    const std::lock_guard lock(spills_mutex);
    new_spills.push_back(summary);
  }

  [[nodiscard]] ledger sums() const;

  /// For the ledger. A spill of which more came after its end is reported again.
  void note_spill(const spill_summary& s) {
    constexpr std::size_t recent = 2;
    constexpr std::size_t most_spills = 65536; // three days of them; a run is shorter
    const auto from = spills.end() - static_cast<std::ptrdiff_t>(std::min(recent, spills.size()));
    const auto again = std::find_if(from, spills.end(),
                                    [&](const spill_account& a) { return a.spill == s.spill; });
    const spill_account account{s.spill, s.admitted, s.incomplete, s.expected};
    if (again == spills.end()) {
      spills.push_back(account);
      if (spills.size() > most_spills) spills.erase(spills.begin());
    } else {
      *again = account;
    }
  }

  /// "pool" of "pool (2 threads)".
  [[nodiscard]] std::string backend_name() const {
    const std::string_view name = compute.engine().name();
    return std::string(name.substr(0, name.find(' ')));
  }

  [[nodiscard]] std::vector<line_snapshot> line_snapshots() const {
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

  /// Sets or ends a trouble, and logs when it comes and goes, but not every flicker.
  void tell(trouble t, bool present) {
    if (!state.set(t, present)) return;
    auto& speaking = troubles_told[static_cast<std::size_t>(t)];
    if (speaking.happened(std::chrono::steady_clock::now())) {
      spdlog::warn("{} {}", name_of(t),
                   present ? "begins: " + advice_on(t, settings.forward.to) : "is over");
    }
  }

  /// Not even the CPU could compute.
  void engine_failed(std::string_view text) {
    state.set(trouble::engine_error, true);
    spdlog::error("engine: {}", text);
  }

  daemon_settings settings;
  const std::uint64_t started_at = steady_now();
  const double started = seconds_since_epoch();
  daemon_state state;
  std::atomic<bool> given_up = false; // what the outbox still holds was counted as shed(drain)
  building_counters building;
  outcome_counters outcomes;

  std::array<occasional, troubles> troubles_told = []<std::size_t... t>(std::index_sequence<t...>) {
    return std::array{(static_cast<void>(t), occasional(std::chrono::seconds(1)))...};
  }
  (std::make_index_sequence<troubles>{});

  std::mutex spills_mutex;
  std::vector<spill_summary> new_spills; // not yet logged
  std::vector<spill_account> spills; // for the ledger; touched by look_around() and drain() only
  rising_count sheds_rise{"events shed, by reason in koto_l3_events_shed_total"};
  rising_count refusing{"datagrams or records refused, by reason in koto_l3_refused_total"};
  rising_count malforming{"fragments malformed, by reason in koto_l3_fragments_malformed_total"};
  rising_count missing{"events incomplete"};
  rising_count repeating{"fragments came again of events that were taken before, and were dropped: "
                         "sent twice, or another sender uses the same numbers in this run"};
  rising_count dropping{
      "datagrams dropped by the kernel: the receive threads or the socket buffers are too small"};
  progress_watch progress{std::chrono::seconds(5)};
  mutable std::mutex stuck_mutex;
  std::string stuck; // as of the last look around

  std::optional<loaded_selection> selection;
  compute_side compute;
  frame_ring frames;
  outbox out;
  std::unique_ptr<spool> disk; // none: without a folder
  std::unique_ptr<spool_backlog> backlog;
  std::unique_ptr<spilling_outbox> spilling;
  line_pace pace;
  forwarder line;
  std::optional<forwarder> backlog_line;
  shedding sheds;
  pipeline work;
  event_builder builder;
  std::jthread forward_thread;
  std::jthread backlog_thread;
  std::optional<udp_receiver> udp;
  std::optional<tcp_receiver> tcp;
};

node::node(const daemon_settings& settings, std::string configuration)
    : parts_(std::make_unique<parts>(settings, std::move(configuration))) {}

node::~node() = default;

bool node::drain() {
  parts& p = *parts_;
  p.state.enter(phase::draining);
  const auto deadline = std::chrono::steady_clock::now() + p.settings.run.drain_time_limit;
  if (p.udp) p.udp->stop();
  if (p.tcp) p.tcp->stop_reading();
  // Frames come free as the outbox empties: until then complete events may have to wait.
  while (!p.builder.try_drain(steady_now()) && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(frame_wait);
  p.builder.drain(steady_now());
  p.spilling->copy_all();
  p.work.finish(deadline - time_to_close);
  if (p.disk) p.wait_for_the_receiver(deadline - time_to_close);
  p.line.drain_until(p.disk ? std::chrono::steady_clock::now() : deadline);
  p.forward_thread.request_stop();
  p.backlog_thread.request_stop();
  p.out.wake();
  p.forward_thread.join();
  if (p.backlog_thread.joinable()) p.backlog_thread.join();
  p.spilling->finish(deadline);
  p.outcomes.events_shed.add(shed::drain, p.out.events_waiting() + p.spilling->events_waiting() -
                                              p.spilling->events_on_disk());
  p.given_up = true;
  look_around();
  p.state.enter(phase::stopped);
  return p.outcomes.events_shed[shed::drain] == 0;
}

void node::look_around() {
  parts& p = *parts_;
  std::vector<spill_summary> ended;
  {
    const std::lock_guard lock(p.spills_mutex);
    ended.swap(p.new_spills);
  }
  const auto frame_counts = p.frames.count_states();
  // Once all is given up the line has said goodbye, which is no trouble.
  if (!p.given_up) p.tell(trouble::receiver_absent, !p.line.connected());
  p.tell(trouble::spilling, p.spilling->spilling());
  p.tell(trouble::spool_full, p.disk && p.disk->full());
  p.tell(trouble::shedding, p.sheds.active());
  p.tell(trouble::outbox_full, p.work.waiting_for_outbox());
  p.tell(trouble::engine_bypassed, p.compute.engine().bypassed());
  p.tell(trouble::wrong_results, p.compute.engine().wrong_results());
  p.tell(trouble::no_frame, frame_counts[static_cast<std::size_t>(frame_state::free)] == 0);
  std::string stuck = p.state.report().now == phase::receiving
                          ? p.progress.stuck(std::chrono::steady_clock::now())
                          : std::string();
  if (!stuck.empty()) spdlog::error("no progress: {}", stuck);
  {
    const std::lock_guard lock(p.stuck_mutex);
    p.stuck = std::move(stuck);
  }

  const ledger a = p.sums();
  p.sheds_rise.tell(sum_of(a.events.shed));
  p.refusing.tell(sum_of(a.datagrams.malformed));
  p.malforming.tell(sum_of(a.fragments.malformed));
  p.missing.tell(p.building.events_incomplete);
  p.repeating.tell(a.fragments.duplicate);
  p.dropping.tell(a.datagrams.kernel_drops);
  ended.erase(std::unique(ended.begin(), ended.end()), ended.end()); // two ends said the same
  for (const spill_summary& e : ended) p.note_spill(e);
  constexpr std::size_t most_lines = 4; // a sender may claim any number of spills
  const std::size_t told = std::min(ended.size(), most_lines);
  for (const spill_summary& e : std::span(ended).last(told)) {
    spdlog::info("spill {}: {} events admitted, {} incomplete, {} sent", e.spill, e.admitted,
                 e.incomplete, e.expected ? std::to_string(*e.expected) : "?");
  }
  if (ended.size() > told) spdlog::info("and {} spills before them", ended.size() - told);
  if (!ended.empty()) {
    spdlog::info("so far: events {} = {} forwarded + {} rejected + {} shed + {} in flight; "
                 "fragments {} = {} admitted + {} incomplete + {} "
                 "malformed + {} late + {} duplicate, {} being built",
                 a.events.admitted, a.events.forwarded, a.events.rejected, sum_of(a.events.shed),
                 a.events.in_flight, a.fragments.seen, a.fragments.admitted, a.fragments.incomplete,
                 sum_of(a.fragments.malformed), a.fragments.late, a.fragments.duplicate,
                 p.builder.open_fragments());
  }
}

ledger node::account() const {
  ledger a = parts_->sums();
  a.spills.assign(parts_->spills.begin(), parts_->spills.end());
  return a;
}

/// The account without its spills: what is looked at twice a second.
ledger node::parts::sums() const {
  const parts& p = *this;
  ledger a;
  a.program = "koto-l3d";
  a.run = p.settings.run.number;
  a.sessions = {p.out.identity().session};
  if (p.backlog) {
    a.sessions.push_back(p.backlog->own().session);
    a.spool.emplace();
    a.spool->found = p.disk->found().events;
    for (const lane_counters& l : p.backlog->found())
      a.spool->lanes.push_back({l.session, l.delivered, l.damaged});
  }
  // Outcomes before origins: what happens meanwhile is then seen as in flight, not as lost.
  set_outcomes(a, p.outcomes);
  a.events.forwarded = p.out.events_stored();
  if (p.backlog) {
    a.events.forwarded += p.backlog->own().delivered;
    a.events.shed[std::string(name_of(shed::spool))] += p.backlog->own().damaged;
    a.spool->waiting = p.spilling->events_on_disk();
  }
  a.events.in_flight = p.builder.batched_events() + p.frames.events_under_way() +
                       (p.given_up ? p.spilling->events_on_disk()
                                   : p.out.events_waiting() + p.spilling->events_waiting());
  set_building(a, p.building);
  for (std::size_t i = 0; p.udp && i < p.udp->links(); ++i) add_link(a, p.udp->link(i));
  if (p.tcp) add_link(a, p.tcp->link());
  a.clean = p.state.report().now == phase::stopped &&
            a.events.in_flight == (a.spool ? a.spool->waiting : 0) &&
            p.outcomes.events_shed[shed::drain] == 0;
  return a;
}

metrics_snapshot node::snapshot() const {
  const parts& p = *parts_;
  metrics_snapshot s;
  s.version = L3_VERSION;
  s.backend = p.backend_name();
  s.device = p.compute.engine().name();
  s.started = p.started;
  s.uptime = static_cast<double>(steady_now() - p.started_at) * 1e-9;
  s.state = p.state.report();
  for (const memory_use& use : memory_plan()) s.memory_planned += use.bytes;
  s.account = p.sums();
  s.node = p.settings.run.node;
  for (std::size_t i = 0; p.udp && i < p.udp->links(); ++i) {
    const link_counters& l = p.udp->link(i);
    s.links.push_back({"udp" + std::to_string(i), l.datagrams, l.bytes, l.kernel_drops});
  }
  if (p.tcp) s.links.push_back({"tcp", p.tcp->link().datagrams, p.tcp->link().bytes, 0});
  s.fragments_in_flight = p.builder.open_fragments();
  s.events_incomplete = p.building.events_incomplete;
  s.events_parked = p.building.parked;
  s.spills = p.building.spills;
  if (p.selection) s.lines = p.line_snapshots();
  s.events_not_judged = p.work.lines().events_not_judged();
  s.boards_damaged = p.outcomes.boards_damaged;
  s.boards_opaque = p.outcomes.boards_opaque;
  s.waveform_bytes = p.outcomes.waveform_bytes;
  s.packed_bytes = p.outcomes.packed_bytes;
  s.frames = p.frames.count_states();
  s.engine = p.compute.snapshot();
  if (p.disk) {
    s.spool.emplace();
    s.spool->bytes = p.disk->bytes();
    s.spool->disk_bytes = p.disk->disk_bytes();
    s.spool->capacity = p.disk->capacity();
    s.spool->blocks = p.disk->blocks();
    s.spool->events = p.disk->events();
    s.spool->spilled = p.spilling->events_spilled();
    s.spool->write_errors = p.spilling->write_errors();
    s.spool->damaged = p.disk->damaged();
  }
  s.outbox_bytes = p.out.bytes_waiting();
  s.outbox_capacity = p.out.capacity();
  s.outbox_blocks = p.out.blocks_waiting();
  const forward_counters& f = p.line.counters();
  s.blocks_sent = f.blocks - f.resent;
  s.blocks_resent = f.resent;
  s.blocks_stored = p.out.last_stored();
  s.bytes_sent = f.bytes;
  s.reconnects = f.reconnects;
  s.refusals = f.refusals;
  s.receiver_connected = p.line.connected();
  s.compute_time = snapshot_of(p.work.compute_time());
  s.drain_time = snapshot_of(p.work.drain_time());
  s.event_latency = snapshot_of(p.out.latency());
  return s;
}

void node::set_output_rate(bit_rate rate) { parts_->pace.set_rate(rate, steady_now()); }

bool node::failed() const { return parts_->work.failed_frames() != 0; }

bool node::device_hangs() const { return parts_->compute.engine().hangs(); }

std::string node::stuck() const {
  const std::lock_guard lock(parts_->stuck_mutex);
  return parts_->stuck;
}

state_report node::state() const { return parts_->state.report(); }

std::string node::backend() const { return std::string(parts_->compute.engine().name()); }

std::vector<memory_use> node::memory_plan() const {
  const auto plan = parts_->compute.engine().memory_plan();
  std::vector<memory_use> all(plan.begin(), plan.end());
  all.push_back({"outbox", parts_->out.bytes()});
  if (parts_->disk)
    all.push_back({"blocks on their way to and from disk", parts_->spilling->bytes()});
  all.push_back({"parked events", parts_->builder.parking_bytes()});
  all.push_back({"tables of event building", parts_->builder.table_bytes()});
  return all;
}

} // namespace l3
