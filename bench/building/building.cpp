// SPDX-License-Identifier: Apache-2.0
// `koto-l3-bench building`: event building alone, from memory, without sockets and compute side.
#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "bench/building/feed.hpp"
#include "bench/harness/options.hpp"
#include "bench/harness/report.hpp"
#include "tools/command_line.hpp"

namespace l3::bench {
namespace {

struct building_row {
  feed_plan plan;
  arrival how = arrival::in_order;
  std::uint32_t events = 0;        ///< complete ones
  std::uint64_t payload_bytes = 0; ///< of all that arrived
  std::vector<feed_result> runs;   ///< by round
  bool right = true;               ///< every run, including one with every byte compared
};

struct building_report {
  std::uint32_t events = 0;
  std::uint64_t payload_bytes = 0; ///< of these events
  timing bare_pass;                ///< of one thread over them
  std::vector<building_row> rows;

  [[nodiscard]] bool all_right() const;
};

struct building_options {
  std::uint32_t events = 512;
  std::uint32_t rounds = 7;
  std::vector<std::uint32_t> threads{1, 2, 4};
  std::vector<std::uint32_t> datagrams_per_call{64, 2};
};

namespace json = boost::json;

constexpr std::uint32_t batches_in_turn = 4;
constexpr std::uint32_t events_per_batch = 64;
constexpr double gigabyte = 1e9;

/// The median and quartiles of one result of the runs.
timing of_runs(const building_row& r, double feed_result::*figure) {
  std::vector<double> values;
  for (const feed_result& one : r.runs) values.push_back(one.*figure);
  return summary(std::move(values));
}

double longest_of(const building_row& r, double feed_result::*figure) {
  return (*std::ranges::max_element(r.runs, {}, figure)).*figure;
}

/// A single thread's clock stops while another program has the core; the throughput of several
/// threads needs the wall clock.
timing time_of(const building_row& r) {
  return of_runs(r, r.plan.threads == 1 ? &feed_result::cpu_of_calls : &feed_result::wall_of_calls);
}

double events_per_second(const building_row& r) { return r.events / time_of(r).median; }

/// The rate relative to one thread with the same datagrams; nothing if that was not measured.
json::value of_one_thread(const building_report& report, const building_row& r) {
  const auto one = std::ranges::find_if(report.rows, [&](const building_row& other) {
    return other.plan.threads == 1 && other.how == r.how &&
           other.plan.datagrams_per_call == r.plan.datagrams_per_call;
  });
  if (one == report.rows.end()) return nullptr;
  return events_per_second(r) / events_per_second(*one);
}

json::object to_json(const building_report& report, const building_row& r) {
  timing time = time_of(r);
  time.right = r.right;
  json::object o = rated({{"threads", r.plan.threads},
                          {"datagrams_per_call", r.plan.datagrams_per_call},
                          {"arrival", name_of(r.how)}},
                         "events_per_second", r.events, time);
  o["of_one_thread"] = of_one_thread(report, r);
  o["cpu_seconds_per_gigabyte"] = of_runs(r, &feed_result::cpu_of_calls).median /
                                  (static_cast<double>(r.payload_bytes) / gigabyte);
  o["share_of_time_in_calls"] = of_runs(r, &feed_result::share_of_time).median;
  o["call_99.99_percent"] = of_runs(r, &feed_result::almost_longest).median;
  o["longest_call"] = longest_of(r, &feed_result::longest);
  o["longest_cpu_of_call"] = longest_of(r, &feed_result::longest_cpu);
  o["parked_of_events"] = static_cast<double>(r.runs.back().parked) / r.events;
  o["parked_of_bytes"] =
      static_cast<double>(r.runs.back().parked_bytes) / static_cast<double>(r.payload_bytes);
  return o;
}

bool building_report::all_right() const { return std::ranges::all_of(rows, &building_row::right); }

/// The ways take turns in each round, after a round whose output is compared.
building_report measure_building(const building_options& o) {
  const made_up_events one_spill(o.events, 1);
  const made_up_events two_spills(o.events, 2);
  const auto sent = [&](arrival a) -> const made_up_events& {
    return spills_of(a) == 1 ? one_spill : two_spills;
  };
  reused_batches batches(batches_in_turn, events_per_batch);

  building_report report;
  std::deque<traffic> ways; // one per row
  for (const std::uint32_t threads : o.threads) {
    for (const std::uint32_t datagrams : o.datagrams_per_call) {
      for (const arrival a : all_arrivals) {
        const traffic& t = ways.emplace_back(make_traffic(sent(a), a, threads));
        report.rows.push_back({{threads, datagrams}, a, t.whole_events, t.payload_bytes, {}, true});
        building_row& row = report.rows.back();
        row.right = feed(t, row.plan, batches, &sent(a)).right;
      }
    }
  }
  const traffic in_order = make_traffic(one_spill, arrival::in_order, 1);
  std::vector<double> passes;
  for (std::uint32_t round = 0; round < o.rounds; ++round) {
    passes.push_back(bare_pass(in_order, batches));
    for (std::size_t i = 0; i < ways.size(); ++i) {
      building_row& row = report.rows[i];
      row.runs.push_back(feed(ways[i], row.plan, batches));
      row.right = row.right && row.runs.back().right;
    }
  }
  report.events = o.events;
  report.payload_bytes = in_order.payload_bytes;
  report.bare_pass = summary(std::move(passes));
  return report;
}

json::object to_json(const building_report& r) {
  json::object report = report_of("building");
  const double gigabytes = static_cast<double>(r.payload_bytes) / gigabyte;
  report["events"] = r.events;
  report["payload_bytes"] = r.payload_bytes;
  report["bare_pass_events_per_second"] = r.events / r.bare_pass.median;
  report["bare_pass_low_quartile"] = r.events / r.bare_pass.high;
  report["bare_pass_high_quartile"] = r.events / r.bare_pass.low;
  report["bare_pass_cpu_seconds_per_gigabyte"] = r.bare_pass.median / gigabytes;
  json::array rows;
  for (const building_row& row : r.rows) rows.push_back(to_json(r, row));
  report["rows"] = std::move(rows);
  return report;
}

} // namespace
} // namespace l3::bench

namespace l3 {

void add_bench_building(command_line program, command_body& run) {
  using namespace bench;
  struct options {
    building_options building;
    bool as_json = false;
  };
  auto o = std::make_shared<options>();
  const auto c = program.add_subcommand(
      "building", "Measure event building alone, from memory, beside a copy of the same payloads");
  c.footer("The table shows the time of the builder's calls, without the copy of the payloads into "
           "its slots: in the daemon the kernel makes that copy. One thread is measured by its CPU "
           "clock, several threads by the wall clock. With several threads a call may wait "
           "for the thread that owns the builder.");
  constexpr std::uint32_t most_events = 4096;
  constexpr std::uint32_t most_threads = 8;
  constexpr std::uint32_t most_datagrams = 64;
  add_count(c, "--events", o->building.events, "Events that arrive in a run", 2, most_events);
  add_count(c, "--rounds", o->building.rounds, "Rounds of measurement", 1, 10'000);
  c.add_option("--threads", o->building.threads, "Threads that share the ports")
      .capture_default_str()
      .check(in_range(1U, most_threads))
      .delimiter(',');
  c.add_option("--datagrams", o->building.datagrams_per_call, "Datagrams a call, at most")
      .capture_default_str()
      .check(in_range(1U, most_datagrams))
      .delimiter(',');
  c.add_flag("--json", o->as_json, "Report as JSON");
  c.callback([o, &run] {
    run = [o] {
      const building_report r = measure_building(o->building);
      return print_report(to_json(r), o->as_json, r.all_right());
    };
  });
}

} // namespace l3
