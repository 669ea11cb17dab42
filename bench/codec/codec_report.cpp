// SPDX-License-Identifier: Apache-2.0
#include "bench/codec/codec_report.hpp"

#include <algorithm>

namespace l3::bench {
namespace {

namespace json = boost::json;

json::object beside_memcpy(std::size_t bytes, const timing& t, const timing& memcpy) {
  json::object o = rated({}, "bytes_per_second", static_cast<double>(bytes), t);
  o["of_memcpy"] = memcpy.median / t.median;
  return o;
}

} // namespace

bool codec_report::all_right() const {
  return std::ranges::all_of(rows, [](const codec_row& r) { return r.hot.right && r.cold.right; });
}

json::object to_json(const codec_report& r) {
  json::object report = report_of(r.bench);
  report["by_n"] = json::value_from(r.by_n);
  report["hot_bytes"] = r.hot_bytes;
  report["cold_bytes"] = r.cold_bytes;
  report["cold_distance"] = r.cold_distance;
  const codec_row& memcpy = r.rows.front();
  json::array rows;
  for (const codec_row& row : r.rows) {
    rows.push_back(json::object{{"what", row.name},
                                {"ratio", row.ratio},
                                {"hot", beside_memcpy(r.hot_bytes, row.hot, memcpy.hot)},
                                {"cold", beside_memcpy(r.cold_bytes, row.cold, memcpy.cold)}});
  }
  report["rows"] = std::move(rows);
  return report;
}

} // namespace l3::bench
