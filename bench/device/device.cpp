// SPDX-License-Identifier: Apache-2.0
// `koto-l3-bench device`: packing everything that lies in a device's memory, by each of our forms
// and by the two kernels that KOTO began with, beside a copy within that memory and one CPU core.
#include <algorithm>
#include <memory>

#include "bench/device/device_report.hpp"
#include "bench/harness/options.hpp"
#include "selection/engine/make_engine.hpp"
#include "tools/command.hpp"

namespace l3 {
namespace {

using namespace bench;

struct device_options {
  std::uint32_t events = 2048; // more bytes than any cache holds
  turn_options turns{.rounds = 9};
  std::string plot;
};

/// Rounds of the smaller sizes, at which little is measured.
constexpr std::uint32_t rounds_of_a_size = 3;

int run_device_bench(const device_options& o) {
  if (const std::string why_not = why_no_cuda(); !why_not.empty())
    throw command_error(why_not, exit_missing_resource);
  const auto measured = [](std::uint32_t events, std::uint32_t rounds) {
    device_report r = measure_device(events, rounds, [=](const auto& batch, const auto& expected) {
      return cuda_pack(batch, expected, rounds);
    });
    r.device = device_name();
    return r;
  };
  const device_report report = measured(o.events, o.turns.rounds);
  const int code = print_report(to_json(report), o.turns.as_json, report.all_right());
  if (o.plot.empty()) return code;
  std::vector<device_report> by_size;
  for (const std::uint32_t events : sizes_below(o.events))
    by_size.push_back(measured(events, rounds_of_a_size));
  by_size.push_back(report);
  write_plot(o.plot, to_plot(by_size));
  return std::ranges::all_of(by_size, &device_report::all_right) ? code : exit_failure;
}

} // namespace

void add_bench_device(CLI::App& program, command_body& run) {
  auto o = std::make_shared<device_options>();
  auto* c = program.add_subcommand(
      "device", "Packing within a device's memory, beside a copy and the kernels KOTO began with");
  add_count(*c, "--events", o->events, "In the batch", 1, 4096);
  c->add_option("--plot", o->plot,
                "Write time against size, up to that of the batch, to this file, as SVG");
  add_turn_options(*c, o->turns);
  c->callback([o, &run] { run = [o] { return run_device_bench(*o); }; });
}

} // namespace l3
