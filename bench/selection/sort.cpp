// SPDX-License-Identifier: Apache-2.0
// `koto-l3-bench sort`: sorting the pulses of many events, compared with library functions, on one
// core and, if there is one, on a device.
#include <algorithm>
#include <memory>
#include <span>
#include <string>

#include "bench/harness/options.hpp"
#include "bench/harness/report.hpp"
#include "bench/selection/sorting.hpp"
#include "tools/command_line.hpp"

namespace l3::bench {
namespace {

/// `no_device`: why no device was measured.
boost::json::object sort_report(std::span<const sort_row> sorted, const std::string& no_device) {
  boost::json::object report = report_of("sort");
  report["no_device"] = no_device;
  boost::json::array rows;
  for (const sort_row& row : sorted) {
    boost::json::object o = rated({{"where", row.where},
                                   {"segments", row.segments},
                                   {"keys_per_segment", row.keys_per_segment}},
                                  "keys_per_second", row.keys(), row.ours);
    o["library"] = row.library;
    o["library_keys_per_second"] = row.keys() / row.theirs.median;
    o["of_library"] = row.theirs.median / row.ours.median;
    o["right"] = row.right();
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

void add_bench_sort(command_line program, command_body& run) {
  auto o = std::make_shared<sort_options>();
  const auto c =
      program.add_subcommand("sort", "Sort the pulses of events, beside std::sort and CUB");
  add_count(c, "--segments", o->segments, "Segments of each length", 1, 100'000);
  add_device_option(c, o->backend);
  add_turn_options(c, o->turns);
  c.callback([o, &run] { run = [o] { return run_sort_bench(*o); }; });
}

} // namespace l3
