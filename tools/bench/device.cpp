// SPDX-License-Identifier: Apache-2.0
// `koto-l3 bench device`: packing everything that lies in a device's memory, by each of our forms
// and by the two kernels that KOTO began with, beside a copy within that memory.
#include <cstdio>
#include <memory>

#include <boost/json.hpp>

#include "selection/make_engine.hpp"
#include "tools/bench/bench.hpp"
#include "tools/bench/device_pack.hpp"
#include "tools/bench/measure.hpp"

namespace l3 {
namespace {

using namespace bench;
namespace json = boost::json;

constexpr double giga = 1e9;

struct device_options {
  std::uint32_t events = 2048; // more bytes than any cache holds
  std::uint32_t rounds = 9;
  bool as_json = false;
};

double traffic_rate(const device_pack_row& r, double seconds) {
  return static_cast<double>(r.traffic) / seconds;
}
double input_rate(const device_pack_row& r, double seconds) {
  return static_cast<double>(r.input_bytes) / seconds;
}

void print_table(const std::vector<device_pack_row>& rows, const decode_batch& batch,
                 double ratio) {
  std::printf("packing within the memory of %s: %u events, %.2f GB, compressed %.2f : 1\n"
              "GB/s of what is read once and written once: medians, quartiles in brackets, then as "
              "a part of the copy's; GB/s of what is packed\n\n",
              device_name().c_str(), batch.view().events.size(),
              static_cast<double>(batch.fragment_bytes()) / giga, ratio);
  const double copy = traffic_rate(rows[0], summary(rows[0].seconds).median);
  for (const device_pack_row& r : rows) {
    const timing t = summary(r.seconds);
    std::printf("%-36s %9.2f (%9.2f … %9.2f) %6.3f %9.2f%s\n", r.name.c_str(),
                traffic_rate(r, t.median) / giga, traffic_rate(r, t.high) / giga,
                traffic_rate(r, t.low) / giga, traffic_rate(r, t.median) / copy,
                input_rate(r, t.median) / giga, r.right ? "" : "  WRONG OUTPUT");
  }
}

void print_json(const std::vector<device_pack_row>& rows, const decode_batch& batch, double ratio) {
  const double copy = traffic_rate(rows[0], summary(rows[0].seconds).median);
  json::array all;
  for (const device_pack_row& r : rows) {
    const timing t = summary(r.seconds);
    all.push_back(json::object{{"what", r.name},
                               {"traffic_per_second", traffic_rate(r, t.median)},
                               {"low_quartile", traffic_rate(r, t.high)},
                               {"high_quartile", traffic_rate(r, t.low)},
                               {"of_copy", traffic_rate(r, t.median) / copy},
                               {"bytes_per_second", input_rate(r, t.median)},
                               {"right", r.right}});
  }
  const json::object report{{"bench", "device"},
                            {"device", device_name()},
                            {"events", batch.view().events.size()},
                            {"input_bytes", batch.fragment_bytes()},
                            {"ratio", ratio},
                            {"rows", all}};
  std::printf("%s\n", json::serialize(report).c_str());
}

int run_device_bench(const device_options& o) {
  if (const std::string why_not = why_no_cuda(); !why_not.empty())
    throw command_error(why_not, exit_missing_resource);
  const decode_batch batch(o.events, 0);
  const device_pack_expected expected(batch);
  const std::vector<device_pack_row> rows = cuda_pack(batch, expected, o.rounds);
  const double ratio =
      static_cast<double>(batch.fragment_bytes()) / static_cast<double>(expected.packed.size());
  (o.as_json ? print_json : print_table)(rows, batch, ratio);
  for (const device_pack_row& r : rows) {
    if (!r.right) return exit_failure;
  }
  return 0;
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
  c->add_flag("--json", o->as_json, "For machines");
  c->callback([o, &run] { run = [o] { return run_device_bench(*o); }; });
}

} // namespace l3
