// SPDX-License-Identifier: Apache-2.0
#include "bench/device/device_report.hpp"

#include <algorithm>

namespace l3::bench {

namespace json = boost::json;

bool device_report::all_right() const {
  return std::ranges::all_of(rows, [](const device_pack_row& r) { return r.time.right; });
}

device_report measure_device(std::uint32_t events, std::uint32_t rounds,
                             const device_packer& pack) {
  const decode_batch batch(events, 0);
  const device_pack_expected expected(batch);
  device_report r;
  r.events = events;
  r.input_bytes = batch.fragment_bytes();
  r.ratio = static_cast<double>(r.input_bytes) / static_cast<double>(expected.packed.size());
  r.rows = pack(batch, expected);
  r.rows.push_back(pack_on_one_core(expected, rounds));
  return r;
}

std::vector<std::uint32_t> sizes_below(std::uint32_t events) {
  constexpr std::uint32_t step = 4;
  std::vector<std::uint32_t> all;
  for (std::uint32_t n = 1; n < events; n *= step) all.push_back(n);
  return all;
}

json::object to_json(const device_report& r) {
  json::object report = report_of("device");
  report["device"] = r.device;
  report["events"] = r.events;
  report["input_bytes"] = r.input_bytes;
  report["ratio"] = r.ratio;
  json::array rows;
  const device_pack_row& copy = r.rows.front();
  const double copied = static_cast<double>(copy.traffic) / copy.time.median;
  for (const device_pack_row& row : r.rows) {
    json::object o = rated({{"what", row.name}}, "traffic_per_second",
                           static_cast<double>(row.traffic), row.time);
    o["of_copy"] = static_cast<double>(row.traffic) / row.time.median / copied;
    o["bytes_per_second"] = static_cast<double>(row.input_bytes) / row.time.median;
    json::object times_as_fast_as;
    for (const device_pack_row& first : r.rows) {
      if (first.first_kernel) times_as_fast_as[first.name] = first.time.median / row.time.median;
    }
    o["times_as_fast_as"] = std::move(times_as_fast_as);
    rows.push_back(std::move(o));
  }
  report["rows"] = std::move(rows);
  return report;
}

plot to_plot(const std::vector<device_report>& by_size) {
  const device_report& last = by_size.back();
  plot p{"Time to pack within the memory of " + last.device + "; " + processor_name(),
         "level-2 data (bytes)",
         "time (s)",
         {}};
  for (const device_report& r : by_size) {
    p.lines.resize(r.rows.size());
    for (std::size_t i = 0; i < r.rows.size(); ++i) {
      p.lines[i].name = (r.rows[i].first_kernel ? "first: " : "") + r.rows[i].name;
      p.lines[i].points.emplace_back(static_cast<double>(r.input_bytes), r.rows[i].time.median);
    }
  }
  return p;
}

} // namespace l3::bench
