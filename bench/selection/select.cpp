// SPDX-License-Identifier: Apache-2.0
// `koto-l3-bench select`: simulated events through the selection, each algorithm by itself and all
// of them together, beside the decoding of the same events in the same run.
#include <cstdio>
#include <memory>

#include "bench/measure/compute_options.hpp"
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
  std::uint32_t rounds = 15;
  bool as_json = false;
};

/// So many that no cache holds them.
constexpr std::uint32_t events_on_cpu = 128;
constexpr std::uint32_t events_on_device = 1024;
/// In one timing: waking a sleeping host is then no part of it. A CPU's threads are awake.
constexpr std::uint32_t passes_on_device = 16;

loaded_selection load(const std::string& lines, const detector& d, std::uint32_t run) {
  if (lines != built_in) check_readable(lines);
  try {
    return load_selection({lines, built_in, ""}, d.crates(), run);
  } catch (const std::runtime_error& e) {
    throw command_error(e.what(), exit_bad_configuration);
  }
}

int run_select_bench(const bench_select_options& o) {
  const std::string no_device = why_no_cuda();
  const bool cuda = o.compute.where == backend::cuda ||
                    (o.compute.where == backend::automatic && no_device.empty());
  if (cuda && !no_device.empty())
    throw command_error("backend cuda was asked for, but " + no_device, exit_missing_resource);

  constexpr std::uint32_t run = 1;
  const detector d = default_detector();
  const loaded_selection selection = load(o.selection, d, run);
  const selection_program program = selection.program();
  const std::uint32_t on_its_own = cuda ? events_on_device : events_on_cpu;
  const select_batch batch(d, o.events != 0 ? o.events : on_its_own);
  const select_expected expected = expect_selection(batch, program);
  const select_runner runner =
      cuda ? make_cuda_select_runner(batch, program, expected)
      : o.compute.where == backend::serial
          ? make_serial_select_runner(batch, program, expected)
          : make_pool_select_runner(o.compute.threads, batch, program, expected);

  select_report r;
  r.processor = processor_name();
  r.where = runner.where;
  r.cores = runner.cores;
  r.events = batch.view().events.size();
  r.input_bytes = batch.fragment_bytes();
  r.kept = expected.kept;
  r.no_device = cuda ? "" : no_device.empty() ? "--backend says where" : no_device;
  r.rows = measure_selection(runner, o.rounds, cuda ? passes_on_device : 1);
  std::fputs((o.as_json ? to_json(r) : to_table(r)).c_str(), stdout);
  return r.all_right() ? 0 : exit_failure;
}

} // namespace

void add_bench_select(CLI::App& bench, command_body& run) {
  auto o = std::make_shared<bench_select_options>();
  auto* c = bench.add_subcommand(
      "select", "Each algorithm of the selection on simulated events, beside their decoding");
  add_compute_options(*c, o->compute);
  c->add_option("--selection", o->selection, "Cuts, counters and lines")->capture_default_str();
  c->add_option("--events", o->events, "In the batch; 0: more than caches hold")
      ->check(CLI::Range(0U, 4096U))
      ->capture_default_str();
  c->add_option("--rounds", o->rounds, "How often each takes its turn")
      ->check(CLI::Range(1U, 10'000U))
      ->capture_default_str();
  c->add_flag("--json", o->as_json, "For machines");
  c->callback([o, &run] { run = [o] { return run_select_bench(*o); }; });
}

} // namespace l3
