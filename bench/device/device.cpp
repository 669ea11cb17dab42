// SPDX-License-Identifier: Apache-2.0
// `koto-l3-bench device`: packing everything that lies in a device's memory, by each of our forms
// and by the two kernels that KOTO began with, beside a copy within that memory and one CPU core.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>

#include "bench/device/device_report.hpp"
#include "bench/measure/measure.hpp"
#include "selection/engine/make_engine.hpp"
#include "tools/command.hpp"

namespace l3 {
namespace {

using namespace bench;

struct device_options {
  std::uint32_t events = 2048; // more bytes than any cache holds
  std::uint32_t rounds = 9;
  std::string plot;
  bool as_json = false;
};

/// Sizes at which little is measured need no more rounds than that.
constexpr std::uint32_t rounds_of_a_size = 3;

void write_plot(const std::string& path, const std::vector<device_report>& by_size) {
  std::ofstream file(path);
  file << to_svg(to_plot(by_size));
  if (!file.flush()) throw command_error("cannot write " + path);
}

int run_device_bench(const device_options& o) {
  if (const std::string why_not = why_no_cuda(); !why_not.empty())
    throw command_error(why_not, exit_missing_resource);
  const auto measured = [](std::uint32_t events, std::uint32_t rounds) {
    device_report r = measure_device(events, rounds, [=](const auto& batch, const auto& expected) {
      return cuda_pack(batch, expected, rounds);
    });
    r.device = device_name();
    r.processor = processor_name();
    return r;
  };
  const device_report report = measured(o.events, o.rounds);
  std::fputs((o.as_json ? to_json(report) : to_table(report)).c_str(), stdout);
  std::fflush(stdout);
  bool right = report.all_right();
  if (!o.plot.empty()) {
    std::vector<device_report> by_size;
    for (const std::uint32_t events : sizes_below(o.events))
      by_size.push_back(measured(events, rounds_of_a_size));
    by_size.push_back(report);
    write_plot(o.plot, by_size);
    right = right && std::ranges::all_of(by_size, &device_report::all_right);
  }
  return right ? 0 : exit_failure;
}

} // namespace

void add_bench_device(CLI::App& bench, command_body& run) {
  auto o = std::make_shared<device_options>();
  auto* c = bench.add_subcommand(
      "device", "Packing within a device's memory, beside a copy and the kernels KOTO began with");
  c->add_option("--events", o->events, "In the batch")
      ->check(CLI::Range(1U, 4096U))
      ->capture_default_str();
  c->add_option("--rounds", o->rounds, "How often each takes its turn")
      ->check(CLI::Range(1U, 10'000U))
      ->capture_default_str();
  c->add_option("--plot", o->plot,
                "Write time against size, up to that of the batch, to this file, as SVG");
  c->add_flag("--json", o->as_json, "For machines");
  c->callback([o, &run] { run = [o] { return run_device_bench(*o); }; });
}

} // namespace l3
