// SPDX-License-Identifier: Apache-2.0
// `koto-l3-bench device`: packing of data in a device's memory, by each of our forms and by KOTO's
// two original kernels, compared with a copy within that memory and one CPU core.
#include <algorithm>
#include <memory>

#include "bench/device/device_pack.hpp"
#include "bench/harness/options.hpp"
#include "bench/harness/report.hpp"
#include "selection/engine/make_engine.hpp"
#include "tools/command_line.hpp"

namespace l3 {
namespace {

using namespace bench;
namespace json = boost::json;

struct device_options {
  std::uint32_t events = 2048; // more bytes than any cache has
  turn_options turns{.rounds = 9};
};

/// Each rate is compared with that of the copy, the first row, and each time with those of KOTO's
/// original kernels.
json::array json_of(const std::vector<device_pack_row>& rows) {
  json::array all;
  const device_pack_row& copy = rows.front();
  const double copied = static_cast<double>(copy.traffic) / copy.time.median;
  for (const device_pack_row& row : rows) {
    json::object o = rated({{"what", row.name}}, "traffic_per_second",
                           static_cast<double>(row.traffic), row.time);
    o["of_copy"] = static_cast<double>(row.traffic) / row.time.median / copied;
    o["bytes_per_second"] = static_cast<double>(row.input_bytes) / row.time.median;
    json::object times_as_fast_as;
    for (const device_pack_row& first : rows) {
      if (first.first_kernel) times_as_fast_as[first.name] = first.time.median / row.time.median;
    }
    o["times_as_fast_as"] = std::move(times_as_fast_as);
    all.push_back(std::move(o));
  }
  return all;
}

int run_device_bench(const device_options& o) {
  if (const std::string why_not = why_no_cuda(); !why_not.empty())
    throw command_error(why_not, exit_missing_resource);
  const decode_batch batch(o.events, 0);
  const device_pack_expected expected(batch);
  std::vector<device_pack_row> rows = cuda_pack(batch, expected, o.turns.rounds);
  rows.push_back(pack_on_one_core(expected, o.turns.rounds));
  json::object report = report_of("device");
  report["device"] = device_name();
  report["events"] = o.events;
  report["input_bytes"] = batch.fragment_bytes();
  report["ratio"] =
      static_cast<double>(batch.fragment_bytes()) / static_cast<double>(expected.packed.size());
  report["rows"] = json_of(rows);
  return print_report(
      report, o.turns.as_json,
      std::ranges::all_of(rows, [](const device_pack_row& r) { return r.time.right; }));
}

} // namespace

void add_bench_device(command_line program, command_body& run) {
  auto o = std::make_shared<device_options>();
  const auto c = program.add_subcommand(
      "device", "Packing within a device's memory, beside a copy and the kernels KOTO began with");
  add_count(c, "--events", o->events, "In the batch", 1, 4096);
  add_turn_options(c, o->turns);
  c.callback([o, &run] { run = [o] { return run_device_bench(*o); }; });
}

} // namespace l3
