// SPDX-License-Identifier: Apache-2.0
#include "bench/selection/select_report.hpp"

#include <algorithm>
#include <chrono>
#include <ctime>

#include <boost/json.hpp>

#include "tools/figures/text.hpp"

namespace l3::bench {
namespace {

namespace json = boost::json;

/// One core is timed by the thread's own clock, which stands still while another program has it.
double seconds_now(std::uint32_t cores) {
  if (cores != 1)
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  timespec t{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  constexpr double nano = 1e-9;
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * nano;
}

/// A bar.
const char* verdict(bool met) { return met ? "met" : "NOT MET"; }

} // namespace

std::vector<select_row> measure_selection(const select_runner& runner, std::uint32_t rounds,
                                          std::uint32_t passes) {
  std::vector<select_row> rows;
  for (const select_part& p : runner.parts) rows.push_back({p});
  constexpr std::uint32_t warming_rounds = 1;
  for (std::uint32_t round = 0; round < warming_rounds + rounds; ++round) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      runner.prepare(i);
      const double begin = seconds_now(runner.cores);
      runner.run(i, passes);
      const double took = seconds_now(runner.cores) - begin;
      rows[i].right = rows[i].right && runner.is_right(i);
      if (round >= warming_rounds) rows[i].seconds.push_back(took / passes);
    }
  }
  return rows;
}

bool select_report::all_right() const { return std::ranges::all_of(rows, &select_row::right); }

const select_row& select_report::row(part_kind kind) const {
  return *std::ranges::find(rows, kind, [](const select_row& r) { return r.part.kind; });
}

timing select_report::of_decode(const select_row& r) const {
  const select_row& decode = row(part_kind::decode);
  std::vector<double> ratios;
  for (std::size_t i = 0; i < r.seconds.size(); ++i)
    ratios.push_back(r.seconds[i] / decode.seconds[i]);
  return summary(std::move(ratios));
}

timing select_report::added() const {
  const select_row& decode = row(part_kind::decode);
  std::vector<double> ratios;
  for (std::size_t i = 0; i < decode.seconds.size(); ++i) {
    double sum = -decode.seconds[i];
    for (const select_row& r : rows)
      if (r.part.kind == part_kind::algorithm) sum += r.seconds[i];
    ratios.push_back(sum / decode.seconds[i]);
  }
  return summary(std::move(ratios));
}

std::string to_table(const select_report& r) {
  constexpr double micro = 1e6;
  std::string out;
  append(out,
         "selection on %s, %s: %u simulated events of %.0f bytes, %.1f %% of them kept\n"
         "Medians, quartiles in brackets; the decode alone measures waveforms for packing, and the "
         "first algorithm does so on its way\n\n"
         "%-30s %11s%26s %10s %10s %10s\n",
         r.where.c_str(), r.processor.c_str(), r.events,
         static_cast<double>(r.input_bytes) / r.events, 100.0 * r.kept / r.events, "", "events/s",
         "", "per core", "us/event", "of decode");
  for (const select_row& row : r.rows) {
    const timing t = summary(row.seconds);
    append(out, "%-30s %11.0f (%10.0f … %10.0f) ", row.part.name.c_str(),
           r.events_per_second(t.median), r.events_per_second(t.high), r.events_per_second(t.low));
    // One thread copies, whoever computes.
    const std::uint32_t cores = row.part.kind == part_kind::copy ? 1 : r.cores;
    if (r.cores == 0) {
      append(out, "%10s ", "-");
    } else {
      append(out, "%10.0f ", r.events_per_second(t.median) / cores);
    }
    append(out, "%10.3f %10.3f%s\n", t.median / r.events * micro, r.of_decode(row).median,
           row.right ? "" : "  WRONG OUTPUT");
  }
  const timing added = r.added();
  append(out,
         "\nfeatures and selection, the algorithms in sum without the decode: %.2f (%.2f … %.2f) "
         "of the decode; below %.0f: %s\n",
         added.median, added.low, added.high, select_report::most_of_decode,
         verdict(added.median < select_report::most_of_decode));
  if (r.cores == 0) {
    const double rate = r.events_per_second(summary(r.row(part_kind::selection).seconds).median);
    append(out,
           "from the memory of the device, all algorithms: %.2f M events/s; at least %.0f M: %s\n",
           rate / micro, select_report::least_device_rate / micro,
           verdict(rate >= select_report::least_device_rate));
  } else {
    append(out, "on a device: not measured: %s\n", r.no_device.c_str());
  }
  return out;
}

std::string to_json(const select_report& r) {
  json::array rows;
  for (const select_row& row : r.rows) {
    const timing t = summary(row.seconds);
    rows.push_back(json::object{{"what", row.part.name},
                                {"events_per_second", r.events_per_second(t.median)},
                                {"low_quartile", r.events_per_second(t.high)},
                                {"high_quartile", r.events_per_second(t.low)},
                                {"seconds_per_event", t.median / r.events},
                                {"of_decode", r.of_decode(row).median},
                                {"right", row.right}});
  }
  const timing added = r.added();
  return json::serialize(
             json::object{{"bench", "select"},
                          {"backend", r.where},
                          {"processor", r.processor},
                          {"cores", r.cores},
                          {"no_device", r.no_device},
                          {"events", r.events},
                          {"kept", r.kept},
                          {"fragment_bytes", r.input_bytes},
                          {"added_of_decode", added.median},
                          {"added_low_quartile", added.low},
                          {"added_high_quartile", added.high},
                          {"added_must_be_below", select_report::most_of_decode},
                          {"device_events_per_second_must_reach", select_report::least_device_rate},
                          {"rows", rows}}) +
         "\n";
}

} // namespace l3::bench
