// SPDX-License-Identifier: Apache-2.0
// `koto-l3-bench memory`: the speed of copies by one core and, if there is one, to, from and within
// a device. These rows are the limits of other results.
#include <algorithm>
#include <cstring>
#include <memory>

#include "bench/device/copies.hpp"
#include "bench/harness/options.hpp"
#include "bench/harness/report.hpp"
#include "gpu/memory/buffer.hpp"
#include "tools/command_line.hpp"
#include "transport/format/endian.hpp"

namespace l3 {
namespace {

using namespace bench;
namespace json = boost::json;

struct memory_options {
  std::uint64_t hot_bytes = 256 << 10;
  std::uint64_t bytes = 256 << 20;
  std::string backend = "auto";
  turn_options turns;
};

copy_row core_copies(const char* name, std::uint64_t bytes, effort e) {
  const buffer from = host_memory::allocate(bytes);
  const buffer to = host_memory::allocate(bytes);
  for (std::size_t i = 0; i < bytes; ++i) from.data()[i] = static_cast<std::byte>(i * 31 + 7);
  const entrant copy{name, [&] { std::memset(to.data(), poison_byte, bytes); },
                     [&] { std::memcpy(to.data(), from.data(), bytes); },
                     [&] { return std::memcmp(to.data(), from.data(), bytes) == 0; }};
  return {name, bytes, measure({&copy, 1}, e).front()};
}

int measure_memory(const memory_options& o) {
  constexpr std::uint32_t hot_passes = 8; // makes reading the clock negligible
  json::object report = report_of("memory");
  const std::string no_device = why_no_device(o.backend);
  report["no_device"] = no_device;
  std::vector<copy_row> copied{
      core_copies("memcpy, one core, hot", o.hot_bytes, {o.turns.rounds, hot_passes, start::hot}),
      core_copies("memcpy, one core, from memory", o.bytes, {o.turns.rounds})};
  if (no_device.empty())
    std::ranges::move(cuda_copies(round_up(o.bytes, 48), o.turns.rounds),
                      std::back_inserter(copied));
  json::array rows;
  for (const copy_row& r : copied)
    rows.push_back(rated({{"what", r.name}, {"bytes", r.bytes}}, "bytes_per_second",
                         static_cast<double>(r.bytes), r.time));
  report["rows"] = std::move(rows);
  return print_report(report, o.turns.as_json,
                      std::ranges::all_of(copied, [](const copy_row& r) { return r.time.right; }));
}

} // namespace

void add_bench_memory(command_line program, command_body& run) {
  auto o = std::make_shared<memory_options>();
  const auto c =
      program.add_subcommand("memory", "Copy by one core, and to, from and within a device");
  constexpr std::uint64_t least = 4096, most = std::uint64_t{1} << 32;
  add_size(c, "--hot", o->hot_bytes, "Bytes that stay in a core's caches", least, most);
  add_size(c, "--bytes", o->bytes,
           "Bytes that come from memory each time, and of each copy to a device", least, most);
  add_device_option(c, o->backend);
  add_turn_options(c, o->turns);
  c.callback([o, &run] { run = [o] { return measure_memory(*o); }; });
}

} // namespace l3
