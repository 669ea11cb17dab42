// SPDX-License-Identifier: Apache-2.0
// `koto-l3-bench select`: simulated events through the selection, each algorithm alone and all
// together, compared with decoding the same events in the same run.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/harness/options.hpp"
#include "bench/harness/report.hpp"
#include "bench/selection/select_runner.hpp"
#include "selection/engine/make_engine.hpp"
#include "selection/trigger/load_selection.hpp"
#include "tools/command_line.hpp"

namespace l3::bench {
namespace {

struct select_row {
  part_kind kind;
  std::string name;
  timing time; ///< of all slices
};

struct select_report {
  /// Upper limit of the cost of features and selection, as a multiple of the decode.
  static constexpr double most_of_decode = 2;
  /// Events per second that a device must select from its memory.
  static constexpr double least_device_rate = 1e6;

  std::string where;
  std::uint32_t cores = 0; ///< 0: a device
  std::uint32_t slices = 0;
  std::uint32_t events = 0; // of all slices, like all below
  std::uint64_t input_bytes = 0;
  std::uint32_t kept = 0;
  std::string no_device; ///< why no device was measured
  std::vector<select_row> rows;

  [[nodiscard]] bool all_right() const;
  [[nodiscard]] const select_row& row(part_kind kind) const; ///< the first of its kind
  /// The row's time as a multiple of the decode's.
  [[nodiscard]] timing of_decode(const select_row& r) const;
  /// The summed time of the algorithms, each alone, beyond the decode, as a multiple of it.
  [[nodiscard]] timing added() const;
  [[nodiscard]] double events_per_second(double seconds) const { return events / seconds; }
};

namespace json = boost::json;

/// Adds the times of a further slice.
void add_slice(std::vector<select_row>& to, std::vector<select_row> slice) {
  if (to.empty()) return to.swap(slice);
  for (std::size_t i = 0; i < to.size(); ++i) {
    timing& all = to[i].time;
    const timing& one = slice[i].time;
    for (std::size_t round = 0; round < all.seconds.size(); ++round)
      all.seconds[round] += one.seconds[round];
    timing sum = summary(std::move(all.seconds));
    sum.right = all.right && one.right;
    sum.warp_instructions = all.warp_instructions + one.warp_instructions;
    all = std::move(sum);
  }
}

/// All parts take turns; a timing has `passes`. One core is timed by the thread's own clock.
std::vector<select_row> measure_selection(const select_runner& runner, std::uint32_t rounds,
                                          std::uint32_t passes) {
  std::vector<entrant> entrants;
  for (const select_part& p : runner.parts) entrants.push_back(p.what);
  const timer by = runner.cores == 1 ? timer::thread : timer::wall;
  std::vector<timing> times = measure(entrants, {rounds, passes, start::in_turn, by});
  std::vector<select_row> rows;
  for (std::size_t i = 0; i < entrants.size(); ++i)
    rows.push_back({runner.parts[i].kind, entrants[i].name, std::move(times[i])});
  return rows;
}

bool select_report::all_right() const {
  return std::ranges::all_of(rows, [](const select_row& r) { return r.time.right; });
}

const select_row& select_report::row(part_kind kind) const {
  return *std::ranges::find(rows, kind, &select_row::kind);
}

timing select_report::of_decode(const select_row& r) const {
  const std::vector<double>& decode = row(part_kind::decode).time.seconds;
  std::vector<double> ratios;
  for (std::size_t i = 0; i < decode.size(); ++i) ratios.push_back(r.time.seconds[i] / decode[i]);
  return summary(std::move(ratios));
}

timing select_report::added() const {
  const std::vector<double>& decode = row(part_kind::decode).time.seconds;
  std::vector<double> ratios;
  for (std::size_t i = 0; i < decode.size(); ++i) {
    double sum = -decode[i];
    for (const select_row& r : rows)
      if (r.kind == part_kind::algorithm) sum += r.time.seconds[i];
    ratios.push_back(sum / decode[i]);
  }
  return summary(std::move(ratios));
}

json::object to_json(const select_report& r) {
  json::object report = report_of("select");
  report["backend"] = r.where;
  report["cores"] = r.cores;
  report["no_device"] = r.no_device;
  report["slices"] = r.slices;
  report["events"] = r.events;
  report["kept"] = r.kept;
  report["fragment_bytes"] = r.input_bytes;
  const timing added = r.added();
  report["added_of_decode"] = added.median;
  report["added_low_quartile"] = added.low;
  report["added_high_quartile"] = added.high;
  report["added_must_be_below"] = select_report::most_of_decode;
  report["added_is_below"] = added.median < select_report::most_of_decode;
  report["device_events_per_second_must_reach"] = select_report::least_device_rate;
  if (r.cores == 0)
    report["device_reaches_it"] = r.events_per_second(r.row(part_kind::selection).time.median) >=
                                  select_report::least_device_rate;
  json::array rows;
  for (const select_row& row : r.rows) {
    json::object o = rated({{"what", row.name}}, "events_per_second", r.events, row.time);
    // One thread copies on any executor.
    const std::uint32_t cores = row.kind == part_kind::copy ? 1 : r.cores;
    if (r.cores != 0)
      o["events_per_second_and_core"] = r.events_per_second(row.time.median) / cores;
    o["seconds_per_event"] = row.time.median / r.events;
    o["seconds"] = row.time.median;
    o["of_decode"] = r.of_decode(row).median;
    rows.push_back(std::move(o));
  }
  report["rows"] = std::move(rows);
  return report;
}

} // namespace
} // namespace l3::bench

namespace l3 {
namespace {

using namespace bench;

struct bench_select_options {
  compute_settings compute;
  std::string selection = built_in;
  std::uint32_t events = 0;
  std::uint32_t slices = 1;
  turn_options turns;
};

/// More bytes than any cache has.
constexpr std::uint32_t events_on_cpu = 128;
constexpr std::uint32_t events_on_device = 1024;

loaded_selection load(const std::string& lines, const detector& d, std::uint32_t run) {
  check_built_in_or_readable(lines);
  try {
    return load_selection({lines, built_in, ""}, d.crates(), run);
  } catch (const std::runtime_error& e) {
    throw command_error(e.what(), exit_bad_configuration);
  }
}

int run_select_bench(const bench_select_options& o) {
  const bool cuda = on_device(o.compute);
  constexpr std::uint32_t run = 1;
  const detector d = default_detector();
  const loaded_selection selection = load(o.selection, d, run);
  const selection_program program = selection.program();
  const std::uint32_t on_its_own = cuda ? events_on_device : events_on_cpu;
  const std::uint32_t threads = o.compute.where == backend::serial ? 1 : o.compute.threads;
  select_report r;
  r.slices = o.slices;
  r.no_device = cuda ? "" : o.compute.where != backend::automatic ? "by request" : why_no_cuda();
  for (std::uint32_t slice = 1; slice <= o.slices; ++slice) {
    const select_batch batch(d, o.events != 0 ? o.events : on_its_own, slice);
    const select_expected expected = expect_selection(batch, program);
    const select_runner runner = cuda ? make_cuda_select_runner(batch, program, expected)
                                      : make_cpu_select_runner(threads, batch, program, expected);
    r.where = runner.where;
    r.cores = runner.cores;
    r.events += batch.view().events.size();
    r.input_bytes += batch.fragment_bytes();
    r.kept += expected.kept;
    add_slice(r.rows, measure_selection(runner, o.turns.rounds, cuda ? device_passes : 1));
  }
  return print_report(to_json(r), o.turns.as_json, r.all_right());
}

} // namespace

void add_bench_select(command_line program, command_body& run) {
  auto o = std::make_shared<bench_select_options>();
  const auto c = program.add_subcommand(
      "select", "Run each algorithm of the selection on simulated events, beside their decoding");
  add_compute_options(c, o->compute);
  c.add_option("--selection", o->selection, "Cuts, counters and lines").capture_default_str();
  add_count(c, "--events", o->events, "Events in a slice; 0: more than caches hold", 0, 4096);
  add_count(c, "--slices", o->slices,
            "Time slices, each with its own events; their times are summed", 1, 1000);
  add_turn_options(c, o->turns);
  c.callback([o, &run] { run = [o] { return run_select_bench(*o); }; });
}

} // namespace l3
