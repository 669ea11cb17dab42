// SPDX-License-Identifier: Apache-2.0
#include "bench/selection/select_report.hpp"

#include <algorithm>

namespace l3::bench {

namespace json = boost::json;

std::vector<select_row> measure_selection(const select_runner& runner, std::uint32_t rounds,
                                          std::uint32_t passes) {
  std::vector<entrant> entrants;
  for (const select_part& p : runner.parts) entrants.push_back(p.what);
  const timer by = runner.cores == 1 ? timer::thread : timer::wall;
  std::vector<timing> times = measure(entrants, {rounds, passes, start::in_turn, by});
  std::vector<select_row> rows;
  for (std::size_t i = 0; i < entrants.size(); ++i)
    rows.push_back({runner.parts[i].kind, entrants[i].name, std::move(times[i])});
  return rows;
}

bool select_report::all_right() const {
  return std::ranges::all_of(rows, [](const select_row& r) { return r.time.right; });
}

const select_row& select_report::row(part_kind kind) const {
  return *std::ranges::find(rows, kind, &select_row::kind);
}

timing select_report::of_decode(const select_row& r) const {
  const std::vector<double>& decode = row(part_kind::decode).time.seconds;
  std::vector<double> ratios;
  for (std::size_t i = 0; i < decode.size(); ++i) ratios.push_back(r.time.seconds[i] / decode[i]);
  return summary(std::move(ratios));
}

timing select_report::added() const {
  const std::vector<double>& decode = row(part_kind::decode).time.seconds;
  std::vector<double> ratios;
  for (std::size_t i = 0; i < decode.size(); ++i) {
    double sum = -decode[i];
    for (const select_row& r : rows)
      if (r.kind == part_kind::algorithm) sum += r.time.seconds[i];
    ratios.push_back(sum / decode[i]);
  }
  return summary(std::move(ratios));
}

json::object to_json(const select_report& r) {
  json::object report = report_of("select");
  report["backend"] = r.where;
  report["cores"] = r.cores;
  report["no_device"] = r.no_device;
  report["events"] = r.events;
  report["kept"] = r.kept;
  report["fragment_bytes"] = r.input_bytes;
  const timing added = r.added();
  report["added_of_decode"] = added.median;
  report["added_low_quartile"] = added.low;
  report["added_high_quartile"] = added.high;
  report["added_must_be_below"] = select_report::most_of_decode;
  report["added_is_below"] = added.median < select_report::most_of_decode;
  report["device_events_per_second_must_reach"] = select_report::least_device_rate;
  if (r.cores == 0)
    report["device_reaches_it"] = r.events_per_second(r.row(part_kind::selection).time.median) >=
                                  select_report::least_device_rate;
  json::array rows;
  for (const select_row& row : r.rows) {
    json::object o = rated({{"what", row.name}}, "events_per_second", r.events, row.time);
    // One thread copies, on any executor.
    const std::uint32_t cores = row.kind == part_kind::copy ? 1 : r.cores;
    if (r.cores != 0)
      o["events_per_second_and_core"] = r.events_per_second(row.time.median) / cores;
    o["seconds_per_event"] = row.time.median / r.events;
    o["of_decode"] = r.of_decode(row).median;
    rows.push_back(std::move(o));
  }
  report["rows"] = std::move(rows);
  return report;
}

} // namespace l3::bench
