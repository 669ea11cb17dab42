// SPDX-License-Identifier: Apache-2.0
// `koto-l3-bench select`: simulated events through the selection, each algorithm by itself and all
// of them together, beside the decoding of the same events in the same run.
#include <memory>

#include "bench/harness/options.hpp"
#include "bench/selection/select_report.hpp"
#include "bench/selection/select_runner.hpp"
#include "selection/engine/make_engine.hpp"
#include "selection/trigger/load_selection.hpp"
#include "tools/command.hpp"

namespace l3 {
namespace {

using namespace bench;

struct bench_select_options {
  compute_settings compute;
  std::string selection = built_in;
  std::uint32_t events = 0;
  turn_options turns;
};

/// More bytes than any cache holds.
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
  const select_batch batch(d, o.events != 0 ? o.events : on_its_own);
  const select_expected expected = expect_selection(batch, program);
  const std::uint32_t threads = o.compute.where == backend::serial ? 1 : o.compute.threads;
  const select_runner runner = cuda ? make_cuda_select_runner(batch, program, expected)
                                    : make_cpu_select_runner(threads, batch, program, expected);

  select_report r;
  r.where = runner.where;
  r.cores = runner.cores;
  r.events = batch.view().events.size();
  r.input_bytes = batch.fragment_bytes();
  r.kept = expected.kept;
  r.no_device = cuda ? "" : o.compute.where != backend::automatic ? "by request" : why_no_cuda();
  r.rows = measure_selection(runner, o.turns.rounds, cuda ? device_passes : 1);
  return print_report(to_json(r), o.turns.as_json, r.all_right());
}

} // namespace

void add_bench_select(CLI::App& program, command_body& run) {
  auto o = std::make_shared<bench_select_options>();
  auto* c = program.add_subcommand(
      "select", "Each algorithm of the selection on simulated events, beside their decoding");
  add_compute_options(*c, o->compute);
  c->add_option("--selection", o->selection, "Cuts, counters and lines")->capture_default_str();
  add_count(*c, "--events", o->events, "In the batch; 0: more than caches hold", 0, 4096);
  add_turn_options(*c, o->turns);
  c->callback([o, &run] { run = [o] { return run_select_bench(*o); }; });
}

} // namespace l3
