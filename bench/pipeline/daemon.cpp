// SPDX-License-Identifier: Apache-2.0
// `koto-l3-bench daemon`: the daemon's path from a full frame to a stored block, fed from memory as
// fast as possible: supervised engine, compute thread, drain thread, outbox. There are no sockets
// and no event building, which the network's rate limits; a simulated receiver stores each block at
// once. Events are simulated. The limit of the same run: the same frames copied to the device
// without computing, on a CPU one core's memcpy of them; with --rate, that rate.
#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>

#include "bench/harness/energy.hpp"
#include "bench/harness/options.hpp"
#include "bench/harness/packed_events.hpp"
#include "bench/harness/report.hpp"
#include "bench/pipeline/arrivals.hpp"
#include "bench/selection/select_batch.hpp"
#include "daemon/compute/compute_side.hpp"
#include "daemon/compute/pipeline.hpp"
#include "monitor/log.hpp"
#include "selection/trigger/load_selection.hpp"
#include "tools/command_line.hpp"

namespace l3 {
namespace {

using namespace bench;
using namespace std::chrono_literals;
namespace json = boost::json;

struct daemon_options {
  compute_settings compute;
  std::uint32_t frames = 6;
  std::uint32_t events = 64;
  std::uint32_t batches = 64;
  std::uint64_t rate = 0; // of fragment bytes in a second; 0: as fast as possible
  std::string only;
  bool strong = false;
  turn_options turns{.rounds = 5};
};

daemon_settings settings_of(const daemon_options& o, const detector& d, bool selects) {
  daemon_settings s;
  s.compute = o.compute;
  s.compute.dumps.clear();
  s.building.crates = d.crates();
  s.frames.count = static_cast<std::uint16_t>(o.frames);
  s.frames.events = o.events;
  s.outbox.codec = o.strong ? codec_id::strong : codec_id::koto;
  if (selects) s.selection = {built_in, built_in, ""};
  return s;
}

/// The parts of a daemon between the receivers and the link, whose frames contain their events from
/// the start.
class memory_fed_daemon {
public:
  memory_fed_daemon(const daemon_settings& s, const select_batch& events)
      : selection_(selection_of(s)), compute_(s, selection_, {}), ring_(compute_.engine().frames()),
        out_(s.outbox, {1, s.run.number, s.run.node}, safety_),
        histograms_(selection_ && s.histograms.one_in != 0 ? selection_->what.input_count() : 0),
        work_(compute_.engine(), ring_, way_out_, sheds_, outcomes_, histograms_,
              [](std::string_view) {}) {
    for (frame* f : compute_.engine().frames()) events.copy_to(f->input);
    full_ = compute_.engine().frames().front()->input;
    stores_ = std::jthread([this](const std::stop_token& stop) { store(stop); });
  }
  ~memory_fed_daemon() { work_.finish(steady_clock::now() + 10s); }
  memory_fed_daemon(const memory_fed_daemon&) = delete;
  memory_fed_daemon& operator=(const memory_fed_daemon&) = delete;

  /// Submits a frame each `interval`, or as they become free, and returns when all their events are
  /// accounted for.
  void run(std::uint32_t batches, std::chrono::duration<double> interval) {
    const std::uint64_t before = settled();
    const auto begin = steady_clock::now();
    for (std::uint32_t i = 0; i < batches; ++i) {
      std::this_thread::sleep_until(begin + (i + 1) * interval);
      submit(wait_for_free());
    }
    while (settled() < before + std::uint64_t{batches} * full_.used_events)
      std::this_thread::sleep_for(look_again);
  }

  /// The packed bytes of the events from the serial executor.
  [[nodiscard]] std::size_t bytes_on_host(const select_batch& events, codec_id codec) const {
    std::optional<selection_program> program;
    if (selection_) program = selection_->program();
    return packed_on_host(events.capacity(), codec, program ? &*program : nullptr,
                          [&](input_batch& to) { events.copy_to(to); })
        .size();
  }

  [[nodiscard]] engine& computes() { return compute_.engine(); }
  [[nodiscard]] std::uint64_t packed_bytes() const { return outcomes_.packed_bytes.sum(); }
  /// Events that were shed, and frames computed by the CPU instead of the device.
  [[nodiscard]] std::uint64_t went_wrong() const {
    return outcomes_.events_shed.sum() + compute_.engine().counters().frames_bypassed;
  }

private:
  static constexpr auto look_again = 20us;

  static std::optional<loaded_selection> selection_of(const daemon_settings& s) {
    if (s.selection.lines.empty()) return std::nullopt;
    return load_selection(s.selection, s.building.crates, s.run.number);
  }

  input_batch& wait_for_free() {
    input_batch* batch = ring_.try_take();
    while (batch == nullptr) {
      std::this_thread::sleep_for(look_again);
      batch = ring_.try_take();
    }
    return *batch;
  }

  void submit(input_batch& batch) {
    batch.used_bytes = full_.used_bytes;
    batch.used_events = full_.used_events;
    batch.used_fragments = full_.used_fragments;
    batch.used_pieces = full_.used_pieces;
    batch.used_boards = full_.used_boards;
    ring_.submit(batch);
  }

  void store(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      out_.stored_up_to(out_.last_sealed(), steady_clock::now());
      std::this_thread::sleep_for(look_again);
    }
  }

  [[nodiscard]] std::uint64_t settled() const {
    return out_.events_stored() + outcomes_.events_rejected + outcomes_.events_shed.sum();
  }

  std::optional<loaded_selection> selection_;
  compute_side compute_;
  frame_ring ring_;
  safe_batches safety_;
  outbox out_;
  spilling_outbox way_out_{out_};
  shedding sheds_{1, {}};
  outcome_counters outcomes_;
  input_batch full_;
  histogram_book histograms_;
  pipeline work_;
  std::jthread stores_;
};

/// Mean power and load of the device during the last run of a daemon.
struct device_use {
  std::optional<double> watts;
  std::optional<double> busy; ///< part of the time in which it runs kernels
};

int run_bench(const daemon_options& o) {
  set_log_level("error"); // only the report is printed
  const bool device = on_device(o.compute);
  const detector d = default_detector();
  const select_batch events(d, o.events);
  std::vector<std::unique_ptr<memory_fed_daemon>> daemons;
  std::vector<std::uint64_t> expected;
  std::vector<std::uint64_t> before(2);
  const energy_meter meter("", device);
  std::vector<device_use> uses(2);
  std::vector<entrant> entrants;
  const double batch_bytes = static_cast<double>(events.fragment_bytes());
  const std::chrono::duration<double> interval(
      o.rate == 0 ? 0 : batch_bytes / static_cast<double>(o.rate));
  for (const bool selects : {false, true}) {
    if (!o.only.empty() && selects != (o.only == "selection")) continue;
    const daemon_settings s = settings_of(o, d, selects);
    memory_fed_daemon* const one =
        daemons.emplace_back(std::make_unique<memory_fed_daemon>(s, events)).get();
    expected.push_back(o.batches * one->bytes_on_host(events, s.outbox.codec));
    const std::size_t which = daemons.size() - 1;
    entrants.push_back({"daemon, " + std::string(one->computes().name()) +
                            (selects ? ", selection" : ", every event kept"),
                        [one, which, &before] { before[which] = one->packed_bytes(); },
                        [=, &o, &meter, &uses] {
                          const used_energy first = meter.read();
                          const auto begin = steady_clock::now();
                          one->run(o.batches, interval);
                          const std::chrono::duration<double> took = steady_clock::now() - begin;
                          uses[which] = {{}, meter.busy()};
                          if (const auto joules = meter.read().since(first).device)
                            uses[which].watts = *joules / took.count();
                        },
                        [one, which, &before, &expected] {
                          return one->went_wrong() == 0 &&
                                 one->packed_bytes() - before[which] == expected[which];
                        }});
  }
  std::vector<std::span<const std::byte>> inputs;
  for (const frame* f : daemons.front()->computes().frames())
    inputs.emplace_back(f->input.bytes.first(events.bytes().size()));
  if (o.rate == 0)
    entrants.insert(entrants.begin(),
                    device ? cuda_arrivals(inputs, o.batches) : memcpy_arrivals(inputs, o.batches));
  const std::vector<timing> times =
      measure(entrants, {o.turns.rounds, 1, start::in_turn, timer::wall});
  const double bytes = batch_bytes * o.batches;
  const double limit = o.rate == 0 ? times[0].median : interval.count() * o.batches;
  json::object report = report_of("daemon");
  report["frames"] = o.frames;
  report["events"] = o.events;
  report["input_bytes"] = events.fragment_bytes();
  json::array rows;
  for (std::size_t i = 0; i < times.size(); ++i) {
    json::object row = rated({{"what", entrants[i].name}}, "bytes_per_second", bytes, times[i]);
    row["events_per_second"] = static_cast<double>(o.events) * o.batches / times[i].median;
    row["of_limit"] = limit / times[i].median;
    if (const std::size_t first = times.size() - daemons.size(); i >= first) {
      const device_use& use = uses[i - first];
      row["device_watts"] = use.watts ? json::value(*use.watts) : nullptr;
      row["device_busy"] = use.busy ? json::value(*use.busy) : nullptr;
    }
    rows.push_back(std::move(row));
  }
  report["rows"] = std::move(rows);
  return print_report(report, o.turns.as_json, std::ranges::all_of(times, &timing::right));
}

} // namespace

void add_bench_daemon(command_line program, command_body& run) {
  auto o = std::make_shared<daemon_options>();
  const auto c = program.add_subcommand(
      "daemon", "Run the daemon from full frames to stored blocks, fed from memory");
  add_compute_options(c, o->compute);
  add_count(c, "--frames", o->frames, "Frames in circulation", 2, 64);
  add_count(c, "--events", o->events, "Events in a frame", 1, 1024);
  add_count(c, "--batches", o->batches, "Frames in one timing", 1, 100'000);
  c.add_option("--rate", o->rate, "Bytes of fragments a second; 0: as fast as possible")
      .transform(size_in_bytes())
      .capture_default_str();
  c.add_option("--only", o->only, "Only the daemon that selects, or the one that keeps every event")
      .check(one_of({"selection", "all"}));
  c.add_flag("--strong", o->strong, "Pack in the strong codec");
  add_turn_options(c, o->turns);
  c.callback([o, &run] { run = [o] { return run_bench(*o); }; });
}

} // namespace l3
