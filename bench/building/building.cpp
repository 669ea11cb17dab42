// SPDX-License-Identifier: Apache-2.0
// `koto-l3-bench building`: event building alone, from memory, without sockets and compute side.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "bench/building/feed.hpp"
#include "bench/harness/options.hpp"
#include "bench/harness/report.hpp"
#include "tools/command_line.hpp"

namespace l3 {
namespace {

using namespace bench;
namespace json = boost::json;

struct building_options {
  std::uint32_t events = 512;
  std::vector<std::uint32_t> threads{1, 2, 4};
  std::vector<std::uint32_t> datagrams_per_call{64, 2};
  turn_options turns{.rounds = 7};
};

/// One arrival order, number of threads and number of datagrams, over all rounds.
struct building_row {
  feed_plan plan;
  arrival how = arrival::in_order;
  traffic sent;
  std::vector<feed_result> runs{};
  bool right = true; ///< every run, including one with every byte compared
};

constexpr std::uint32_t batches_in_turn = 4;
constexpr std::uint32_t events_per_batch = 64;
constexpr double gigabyte = 1e9;

/// The median and quartiles of one result of the runs.
timing of_runs(const building_row& r, double feed_result::*figure) {
  std::vector<double> values;
  for (const feed_result& one : r.runs) values.push_back(one.*figure);
  return summary(std::move(values));
}

/// A single thread's clock stops while another program has the core; the throughput of several
/// threads needs the wall clock.
timing time_of(const building_row& r) {
  return of_runs(r, r.plan.threads == 1 ? &feed_result::cpu_of_calls : &feed_result::wall_of_calls);
}

/// The rate relative to one thread with the same datagrams; nothing if that was not measured.
json::value of_one_thread(const std::vector<building_row>& rows, const building_row& r) {
  const auto one = std::ranges::find_if(rows, [&](const building_row& other) {
    return other.plan.threads == 1 && other.how == r.how &&
           other.plan.datagrams_per_call == r.plan.datagrams_per_call;
  });
  if (one == rows.end()) return nullptr;
  return time_of(*one).median / time_of(r).median;
}

json::object to_json(const std::vector<building_row>& rows, const building_row& r) {
  const double events = r.sent.whole_events;
  const auto bytes = static_cast<double>(r.sent.payload_bytes);
  timing time = time_of(r);
  time.right = r.right;
  json::object o = rated({{"threads", r.plan.threads},
                          {"datagrams_per_call", r.plan.datagrams_per_call},
                          {"arrival", name_of(r.how)}},
                         "events_per_second", events, time);
  o["of_one_thread"] = of_one_thread(rows, r);
  o["cpu_seconds_per_gigabyte"] =
      of_runs(r, &feed_result::cpu_of_calls).median / (bytes / gigabyte);
  o["call_99.99_percent"] = of_runs(r, &feed_result::almost_longest).median;
  o["longest_cpu_of_call"] =
      std::ranges::max_element(r.runs, {}, &feed_result::longest_cpu)->longest_cpu;
  o["parked_of_events"] = static_cast<double>(r.runs.back().parked) / events;
  o["parked_of_bytes"] = static_cast<double>(r.runs.back().parked_bytes) / bytes;
  return o;
}

/// The rows take turns in each round, after a round whose output is compared.
int measure_building(const building_options& o) {
  const made_up_events one_spill(o.events, 1);
  const made_up_events two_spills(o.events, 2);
  const auto sent = [&](arrival a) -> const made_up_events& {
    return spills_of(a) == 1 ? one_spill : two_spills;
  };
  reused_batches batches(batches_in_turn, events_per_batch);
  std::vector<building_row> rows;
  for (const std::uint32_t threads : o.threads) {
    for (const std::uint32_t datagrams : o.datagrams_per_call) {
      for (const arrival a : all_arrivals) {
        building_row& row = rows.emplace_back(
            building_row{{threads, datagrams}, a, make_traffic(sent(a), a, threads)});
        row.right = feed(row.sent, row.plan, batches, &sent(a)).right;
      }
    }
  }
  const traffic in_order = make_traffic(one_spill, arrival::in_order, 1);
  std::vector<double> passes;
  for (std::uint32_t round = 0; round < o.turns.rounds; ++round) {
    passes.push_back(bare_pass(in_order, batches));
    for (building_row& row : rows) {
      row.runs.push_back(feed(row.sent, row.plan, batches));
      row.right = row.right && row.runs.back().right;
    }
  }
  const timing bare = summary(std::move(passes));
  const auto bytes = static_cast<double>(in_order.payload_bytes);
  json::object report = report_of("building");
  report["events"] = o.events;
  report["payload_bytes"] = in_order.payload_bytes;
  report["bare_pass"] = rated({}, "events_per_second", o.events, bare);
  report["bare_pass_cpu_seconds_per_gigabyte"] = bare.median / (bytes / gigabyte);
  json::array all;
  for (const building_row& row : rows) all.push_back(to_json(rows, row));
  report["rows"] = std::move(all);
  return print_report(report, o.turns.as_json, std::ranges::all_of(rows, &building_row::right));
}

} // namespace

void add_bench_building(command_line program, command_body& run) {
  auto o = std::make_shared<building_options>();
  const auto c = program.add_subcommand(
      "building", "Measure event building alone, from memory, beside a copy of the same payloads");
  c.footer("The table shows the time of the builder's calls, without the copy of the payloads into "
           "its slots: in the daemon the kernel makes that copy. One thread is measured by its CPU "
           "clock, several threads by the wall clock. With several threads a call may wait "
           "for the thread that owns the builder.");
  constexpr std::uint32_t most_events = 4096;
  constexpr std::uint32_t most_threads = 8;
  constexpr std::uint32_t most_datagrams = 64;
  add_count(c, "--events", o->events, "Events that arrive in a run", 2, most_events);
  c.add_option("--threads", o->threads, "Threads that share the ports")
      .capture_default_str()
      .check(in_range(1U, most_threads))
      .delimiter(',');
  c.add_option("--datagrams", o->datagrams_per_call, "Datagrams a call, at most")
      .capture_default_str()
      .check(in_range(1U, most_datagrams))
      .delimiter(',');
  add_turn_options(c, o->turns);
  c.callback([o, &run] { run = [o] { return measure_building(*o); }; });
}

} // namespace l3
