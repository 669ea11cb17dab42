// SPDX-License-Identifier: Apache-2.0
// `koto-l3-bench memory`: how fast bytes are copied, by one core and, if there is one, to, from and
// within a device. Nothing is compared here: these are the limits that other figures stand beside.
#include <cstdio>
#include <memory>

#include <boost/json.hpp>

#include "bench/device/copies.hpp"
#include "bench/measure/measure.hpp"
#include "bench/measure/memory_block.hpp"
#include "selection/engine/make_engine.hpp"
#include "tools/command.hpp"

namespace l3 {
namespace {

using namespace bench;
namespace json = boost::json;

constexpr double giga = 1e9;

struct memory_options {
  std::uint64_t hot_bytes = 256 << 10;
  std::uint64_t bytes = 256 << 20;
  std::uint32_t rounds = 15;
  std::string backend = "auto";
  bool as_json = false;
};

struct memory_row {
  std::string name;
  std::uint64_t bytes = 0; ///< that were copied in the time
  timing time;

  [[nodiscard]] double rate(double seconds) const { return static_cast<double>(bytes) / seconds; }
};

memory_row core_copies(const char* name, std::uint64_t bytes, effort e) {
  const memory_block from(bytes);
  const memory_block to(bytes);
  for (std::size_t i = 0; i < bytes; ++i) from.bytes()[i] = static_cast<std::byte>(i * 31 + 7);
  const entrant copy{
      name, [&] { std::memset(to.bytes().data(), 0xa5, bytes); },
      [&] { std::memcpy(to.bytes().data(), from.bytes().data(), bytes); },
      [&] { return std::memcmp(to.bytes().data(), from.bytes().data(), bytes) == 0; }};
  return {name, bytes, measure({&copy, 1}, e).front()};
}

std::vector<memory_row> rows_of(const memory_options& o) {
  constexpr std::uint32_t hot_passes = 8; // reading the clock is then no part of the figure
  std::vector<memory_row> rows;
  rows.push_back(core_copies("memcpy, one core, hot", o.hot_bytes, {o.rounds, hot_passes, true}));
  rows.push_back(core_copies("memcpy, one core, from memory", o.bytes, {o.rounds, 1, false}));
  if (o.backend == "none" || !why_no_cuda().empty()) return rows;
  for (copy_row& c : cuda_copies(round_up(o.bytes, 48), o.rounds)) {
    timing t = summary(std::move(c.seconds));
    t.right = c.right;
    rows.push_back({std::move(c.name), c.bytes, t});
  }
  return rows;
}

void print_table(const std::vector<memory_row>& rows, const std::string& no_device) {
  std::printf("GB/s copied: medians, quartiles in brackets; %s\n\n", processor_name().c_str());
  for (const memory_row& r : rows) {
    std::printf("%-40s %8.2f (%8.2f … %8.2f)%s\n", r.name.c_str(), r.rate(r.time.median) / giga,
                r.rate(r.time.high) / giga, r.rate(r.time.low) / giga,
                r.time.right ? "" : "  WRONG OUTPUT");
  }
  if (!no_device.empty()) std::printf("on a device: not measured, %s\n", no_device.c_str());
}

void print_json(const std::vector<memory_row>& rows, const std::string& no_device) {
  json::array all;
  for (const memory_row& r : rows) {
    all.push_back(json::object{{"what", r.name},
                               {"bytes", r.bytes},
                               {"bytes_per_second", r.rate(r.time.median)},
                               {"low_quartile", r.rate(r.time.high)},
                               {"high_quartile", r.rate(r.time.low)},
                               {"right", r.time.right}});
  }
  std::printf("%s\n", json::serialize(json::object{{"bench", "memory"},
                                                   {"processor", processor_name()},
                                                   {"no_device", no_device},
                                                   {"rows", all}})
                          .c_str());
}

int measure_memory(const memory_options& o) {
  const std::string no_device = o.backend == "none" ? "by request" : why_no_cuda();
  if (o.backend == "cuda" && !no_device.empty())
    throw command_error("backend cuda was asked for, but " + no_device, exit_missing_resource);
  const auto rows = rows_of(o);
  o.as_json ? print_json(rows, no_device) : print_table(rows, no_device);
  for (const memory_row& r : rows) {
    if (!r.time.right) return exit_failure;
  }
  return 0;
}

} // namespace

void add_bench_memory(CLI::App& bench, command_body& run) {
  auto o = std::make_shared<memory_options>();
  auto* c = bench.add_subcommand("memory", "Copies: by one core, to, from and within a device");
  const auto size = [&](const char* option, std::uint64_t& bytes, const char* is) {
    c->add_option(option, bytes, is)
        ->transform(CLI::AsSizeValue(true))
        ->check(CLI::Range(std::uint64_t{4096}, std::uint64_t{1} << 32))
        ->capture_default_str();
  };
  size("--hot", o->hot_bytes, "Bytes that stay in a core's caches");
  size("--bytes", o->bytes, "Bytes that come from memory each time, and of each copy to a device");
  c->add_option("--rounds", o->rounds, "How often each takes its turn")
      ->check(CLI::Range(1U, 10'000U))
      ->capture_default_str();
  c->add_option("--backend", o->backend, "auto: a device if there is one; cuda: one must be; none")
      ->check(CLI::IsMember({"auto", "cuda", "none"}))
      ->capture_default_str();
  c->add_flag("--json", o->as_json, "For machines");
  c->callback([o, &run] { run = [o] { return measure_memory(*o); }; });
}

} // namespace l3
