// SPDX-License-Identifier: Apache-2.0
#include "bench/codec/codec_report.hpp"

#include <algorithm>
#include <numeric>

#include <boost/json.hpp>

#include "tools/figures/text.hpp"

namespace l3::bench {
namespace {

namespace json = boost::json;

constexpr double giga = 1e9;
constexpr double mebi = 1024.0 * 1024.0;

double rate(std::size_t bytes, double seconds) {
  return seconds > 0 ? static_cast<double>(bytes) / seconds : 0;
}

void append_rate(std::string& to, std::size_t bytes, const timing& t, const timing& limit) {
  append(to, "%7.2f (%6.2f … %6.2f) %6.2f   ", rate(bytes, t.median) / giga,
         rate(bytes, t.high) / giga, rate(bytes, t.low) / giga, limit.median / t.median);
}

json::object object_of(std::size_t bytes, const timing& t, const timing& limit) {
  return {{"bytes_per_second", rate(bytes, t.median)},
          {"low_quartile", rate(bytes, t.high)},
          {"high_quartile", rate(bytes, t.low)},
          {"of_memcpy", limit.median / t.median},
          {"right", t.right}};
}

} // namespace

bool codec_report::all_right() const {
  return std::ranges::all_of(rows, [](const codec_row& r) { return r.hot.right && r.cold.right; });
}

std::string to_table(const codec_report& r) {
  std::string out;
  append(out, "%s, one core of %s\n", r.bench.c_str(), r.processor.c_str());
  append(out, "%s; N:", r.waveforms.c_str());
  const auto all = std::accumulate(r.by_n.begin(), r.by_n.end(), std::size_t{0});
  for (std::size_t n = 0; n < r.by_n.size(); ++n) {
    if (r.by_n[n] == 0) continue;
    append(out, " %zu (%.1f %%)", n,
           100.0 * static_cast<double>(r.by_n[n]) / static_cast<double>(all));
  }
  append(out,
         "\nGB/s of waveforms: medians, quartiles in brackets, then as a part of memcpy's. Hot: "
         "%.2f MiB; from memory: %.0f MiB,\nwith %.0f MiB of others in between\n\n",
         static_cast<double>(r.hot_bytes) / mebi, static_cast<double>(r.cold_bytes) / mebi,
         static_cast<double>(r.cold_distance) / mebi);
  append(out, "%-22s %-34s %-34s %s\n", "", "hot", "from memory", "ratio");
  for (const codec_row& row : r.rows) {
    append(out, "%-22s ", row.name.c_str());
    append_rate(out, r.hot_bytes, row.hot, r.rows.front().hot);
    append_rate(out, r.cold_bytes, row.cold, r.rows.front().cold);
    if (row.ratio > 0) append(out, "%5.2f", row.ratio);
    out += row.hot.right && row.cold.right ? "\n" : "  WRONG OUTPUT\n";
  }
  for (const std::string& why : r.left_out) out += "left out: " + why + "\n";
  return out;
}

std::string to_json(const codec_report& r) {
  json::array rows;
  for (const codec_row& row : r.rows) {
    rows.push_back(json::object{{"what", row.name},
                                {"ratio", row.ratio},
                                {"hot", object_of(r.hot_bytes, row.hot, r.rows.front().hot)},
                                {"cold", object_of(r.cold_bytes, row.cold, r.rows.front().cold)}});
  }
  return json::serialize(json::object{{"bench", r.bench},
                                      {"processor", r.processor},
                                      {"waveforms", r.waveforms},
                                      {"by_n", json::value_from(r.by_n)},
                                      {"hot_bytes", r.hot_bytes},
                                      {"cold_bytes", r.cold_bytes},
                                      {"cold_distance", r.cold_distance},
                                      {"left_out", json::value_from(r.left_out)},
                                      {"rows", rows}}) +
         "\n";
}

} // namespace l3::bench
