// SPDX-License-Identifier: Apache-2.0
// `koto-l3 bench WHAT`: the measurements of docs/performance.md, each beside a limit that is
// measured in the same run.
#include "bench/bench.hpp"
#include "tools/command.hpp"

namespace l3 {

void add_bench(CLI::App& program, command_body& run) {
  auto* c = program.add_subcommand("bench", "Measurements, each beside its limit, in one run");
  c->require_subcommand(1);
  add_bench_pack(*c, run);
  add_bench_unpack(*c, run);
  add_bench_decode(*c, run);
  add_bench_device(*c, run);
  add_bench_engine(*c, run);
  add_bench_memory(*c, run);
  add_bench_pipeline(*c, run);
  add_bench_select(*c, run);
  add_bench_show(*c, run);
  add_bench_sort(*c, run);
}

} // namespace l3
