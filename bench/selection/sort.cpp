// SPDX-License-Identifier: Apache-2.0
// `koto-l3-bench sort`: sorting the pulses of many events, beside what the libraries have for it:
// on one core and, if there is one, on a device.
#include <cstdio>
#include <memory>

#include "bench/selection/sorting.hpp"
#include "selection/engine/make_engine.hpp"
#include "tools/command.hpp"

namespace l3 {
namespace {

using namespace bench;

struct sort_options {
  std::uint32_t segments = 1000;
  std::uint32_t rounds = 15;
  std::string backend = "auto";
  bool as_json = false;
};

int run_sort_bench(const sort_options& o) {
  constexpr std::uint32_t shortest = 32;
  sort_report r;
  r.processor = processor_name();
  r.no_device = o.backend == "none" ? "by request" : why_no_cuda();
  if (o.backend == "cuda" && !r.no_device.empty())
    throw command_error("backend cuda was asked for, but " + r.no_device, exit_missing_resource);
  for (std::uint32_t keys = shortest; keys <= max_segment; keys *= 2) {
    const sort_work work(o.segments, keys);
    r.rows.push_back(sort_on_one_core(work, o.rounds));
    if (r.no_device.empty()) r.rows.push_back(sort_on_device(work, o.rounds));
  }
  std::fputs((o.as_json ? to_json(r) : to_table(r)).c_str(), stdout);
  return r.all_right() ? 0 : exit_failure;
}

} // namespace

void add_bench_sort(CLI::App& bench, command_body& run) {
  auto o = std::make_shared<sort_options>();
  auto* c = bench.add_subcommand("sort", "Sorting pulses of events, beside std::sort and CUB");
  c->add_option("--segments", o->segments, "So many are sorted, of each length")
      ->check(CLI::Range(1U, 100'000U))
      ->capture_default_str();
  c->add_option("--rounds", o->rounds, "How often each takes its turn")
      ->check(CLI::Range(1U, 10'000U))
      ->capture_default_str();
  c->add_option("--backend", o->backend, "auto: a device if there is one; cuda: one must be; none")
      ->check(CLI::IsMember({"auto", "cuda", "none"}))
      ->capture_default_str();
  c->add_flag("--json", o->as_json, "For machines");
  c->callback([o, &run] { run = [o] { return run_sort_bench(*o); }; });
}

} // namespace l3
