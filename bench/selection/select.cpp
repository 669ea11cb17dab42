// SPDX-License-Identifier: Apache-2.0
// `koto-l3-bench select`: simulated events through the selection, each algorithm alone and all
// together, compared with decoding the same events in the same run.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "bench/harness/options.hpp"
#include "bench/harness/report.hpp"
#include "bench/selection/select_runner.hpp"
#include "selection/trigger/load_selection.hpp"
#include "tools/command_line.hpp"

namespace l3 {
namespace {

using namespace bench;
namespace json = boost::json;

struct bench_select_options {
  compute_settings compute;
  std::uint32_t events = 0;
  std::uint32_t slices = 1;
  turn_options turns;
};

/// More bytes than any cache has.
constexpr std::uint32_t events_on_cpu = 128;
constexpr std::uint32_t events_on_device = 1024;

struct select_row {
  part_kind kind;
  std::string name;
  timing time; ///< of all slices
};

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

const std::vector<double>& decode_times(const std::vector<select_row>& rows) {
  return std::ranges::find(rows, part_kind::decode, &select_row::kind)->time.seconds;
}

/// The row's time as a multiple of the decode's in the same round.
double of_decode(const std::vector<select_row>& rows, const select_row& r) {
  std::vector<double> ratios;
  std::ranges::transform(r.time.seconds, decode_times(rows), std::back_inserter(ratios),
                         std::divides());
  return summary(std::move(ratios)).median;
}

/// The summed time of the algorithms, each alone, beyond the decode, as a multiple of it.
timing added(const std::vector<select_row>& rows) {
  const std::vector<double>& decode = decode_times(rows);
  std::vector<double> ratios;
  for (std::size_t i = 0; i < decode.size(); ++i) {
    double sum = -decode[i];
    for (const select_row& r : rows)
      if (r.kind == part_kind::algorithm) sum += r.time.seconds[i];
    ratios.push_back(sum / decode[i]);
  }
  return summary(std::move(ratios));
}

int run_select_bench(const bench_select_options& o) {
  const bool cuda = on_device(o.compute);
  constexpr std::uint32_t run = 1;
  const detector d = default_detector();
  const loaded_selection selection = load_selection({built_in, built_in, ""}, d.crates(), run);
  const selection_program program = selection.program();
  const std::uint32_t on_its_own = cuda ? events_on_device : events_on_cpu;
  const std::uint32_t threads = o.compute.where == backend::serial ? 1 : o.compute.threads;
  std::string where;
  std::uint32_t events = 0, kept = 0; // of all slices
  std::uint64_t bytes = 0;
  std::vector<select_row> rows;
  for (std::uint32_t slice = 1; slice <= o.slices; ++slice) {
    const select_batch batch(d, o.events != 0 ? o.events : on_its_own, slice);
    const select_expected expected = expect_selection(batch, program);
    const select_runner runner = cuda ? make_cuda_select_runner(batch, program, expected)
                                      : make_cpu_select_runner(threads, batch, program, expected);
    where = runner.where;
    events += batch.view().events.size();
    bytes += batch.fragment_bytes();
    kept += expected.kept;
    add_slice(rows, measure_selection(runner, o.turns.rounds, cuda ? device_passes : 1));
  }
  const timing beyond = added(rows);
  json::object report = report_of("select");
  report["backend"] = where;
  report["slices"] = o.slices;
  report["events"] = events;
  report["kept"] = kept;
  report["fragment_bytes"] = bytes;
  report["added_of_decode"] = beyond.median;
  report["low_quartile"] = beyond.low;
  report["high_quartile"] = beyond.high;
  json::array all;
  bool right = true;
  for (const select_row& row : rows) {
    json::object r = rated({{"what", row.name}}, "events_per_second", events, row.time);
    r["seconds"] = row.time.median;
    r["of_decode"] = of_decode(rows, row);
    all.push_back(std::move(r));
    right = right && row.time.right;
  }
  report["rows"] = std::move(all);
  return print_report(report, o.turns.as_json, right);
}

} // namespace

void add_bench_select(command_line program, command_body& run) {
  auto o = std::make_shared<bench_select_options>();
  const auto c = program.add_subcommand(
      "select", "Run each algorithm of the selection on simulated events, beside their decoding");
  add_compute_options(c, o->compute);
  add_count(c, "--events", o->events, "Events in a slice; 0: more than caches hold", 0, 4096);
  add_count(c, "--slices", o->slices,
            "Time slices, each with its own events; their times are summed", 1, 1000);
  add_turn_options(c, o->turns);
  c.callback([o, &run] { run = [o] { return run_select_bench(*o); }; });
}

} // namespace l3
