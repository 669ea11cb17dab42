// SPDX-License-Identifier: Apache-2.0
// `koto-l3-bench decode`: events per second of the decoder with one technique added after the
// other, compared with a copy of the same bytes in the same memory in the same run.
#include <algorithm>
#include <memory>

#include "bench/decode/decode_stand.hpp"
#include "bench/harness/options.hpp"
#include "bench/harness/report.hpp"
#include "gpu/executors/pool.hpp"
#include "tools/command_line.hpp"

namespace l3 {
namespace {

using namespace bench;
namespace json = boost::json;

struct decode_options {
  compute_settings compute;
  std::uint32_t events = 0;
  bool varied = false;
  turn_options turns;
};

/// More bytes than any cache has.
constexpr std::uint32_t events_on_cpu = 128;
constexpr std::uint32_t events_on_device = 2048;

constexpr std::uint32_t percent_opaque = 5; // boards that have nothing to decode
constexpr std::uint32_t threshold = 100;    // of the pulses that are listed, in counts

int run_decode_bench(const decode_options& o) {
  const bool cuda = on_device(o.compute);
  const decode_batch batch(o.events != 0 ? o.events
                           : cuda        ? events_on_device
                                         : events_on_cpu,
                           percent_opaque, o.varied);
  std::unique_ptr<thread_pool> pool;
  const decode_entrants made = [&] {
    if (cuda) return make_cuda_decode_entrants(batch, threshold);
    pool =
        std::make_unique<thread_pool>(o.compute.where == backend::serial ? 1 : o.compute.threads);
    const std::uint32_t n = pool->threads();
    return make_decode_entrants(n == 1 ? "one core" : "pool (" + std::to_string(n) + " threads)",
                                pool_queue(*pool), n, batch, threshold);
  }();
  const timer by = pool && pool->threads() == 1 ? timer::thread : timer::wall;
  const std::vector<timing> times =
      measure(made.all, {o.turns.rounds, cuda ? device_passes : 1, start::in_turn, by});

  const auto bytes = static_cast<double>(batch.fragment_bytes());
  const std::uint32_t events = batch.view().events.size();
  json::object report = report_of("decode");
  report["backend"] = made.where;
  report["events"] = events;
  report["fragment_bytes"] = batch.fragment_bytes();
  report["varied"] = o.varied;
  json::array rows;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const timing& t = times[i];
    json::object row = rated({{"what", made.all[i].name}}, "events_per_second", events, t);
    row["bytes_per_second"] = bytes / t.median;
    row["of_copy"] = times[0].median / t.median;
    if (t.warp_instructions != 0)
      row["warp_instructions_per_waveform"] =
          static_cast<double>(t.warp_instructions) / (batch.boards() * packet_lanes);
    if (i > 1) row["times_as_fast_as_before"] = times[i - 1].median / t.median;
    rows.push_back(std::move(row));
  }
  report["rows"] = std::move(rows);
  return print_report(report, o.turns.as_json, std::ranges::all_of(times, &timing::right));
}

} // namespace

void add_bench_decode(command_line program, command_body& run) {
  auto o = std::make_shared<decode_options>();
  const auto c = program.add_subcommand(
      "decode", "Decode board packets to waveforms, adding one technique after the other, beside "
                "a copy");
  add_compute_options(c, o->compute);
  add_count(c, "--events", o->events, "Events in the batch; 0: more than caches hold", 0, 4096);
  c.add_flag("--varied", o->varied,
             "Most packets are short and few are long, instead of all equally long");
  add_turn_options(c, o->turns);
  c.callback([o, &run] { run = [o] { return run_decode_bench(*o); }; });
}

} // namespace l3
