// SPDX-License-Identifier: Apache-2.0
// `koto-l3-bench sort`: sorting the pulses of many events, beside what the libraries have for it:
// on one core and, if there is one, on a device.
#include <algorithm>
#include <memory>

#include "bench/harness/options.hpp"
#include "bench/selection/sort_report.hpp"
#include "tools/command.hpp"

namespace l3 {
namespace {

using namespace bench;

struct sort_options {
  std::uint32_t segments = 1000;
  std::string backend = "auto";
  turn_options turns;
};

int run_sort_bench(const sort_options& o) {
  constexpr std::uint32_t shortest = 32;
  const std::string no_device = why_no_device(o.backend);
  std::vector<sort_row> rows;
  for (std::uint32_t keys = shortest; keys <= max_segment; keys *= 2) {
    const sort_work work(o.segments, keys);
    rows.push_back(sort_on_one_core(work, o.turns.rounds));
    if (no_device.empty()) rows.push_back(sort_on_device(work, o.turns.rounds));
  }
  return print_report(sort_report(rows, no_device), o.turns.as_json,
                      std::ranges::all_of(rows, &sort_row::right));
}

} // namespace

void add_bench_sort(CLI::App& program, command_body& run) {
  auto o = std::make_shared<sort_options>();
  auto* c = program.add_subcommand("sort", "Sorting pulses of events, beside std::sort and CUB");
  add_count(*c, "--segments", o->segments, "So many are sorted, of each length", 1, 100'000);
  add_device_option(*c, o->backend);
  add_turn_options(*c, o->turns);
  c->callback([o, &run] { run = [o] { return run_sort_bench(*o); }; });
}

} // namespace l3
