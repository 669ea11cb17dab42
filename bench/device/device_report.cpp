// SPDX-License-Identifier: Apache-2.0
#include "bench/device/device_report.hpp"

#include <algorithm>

#include <boost/json.hpp>

#include "bench/measure/measure.hpp"
#include "tools/figures/text.hpp"

namespace l3::bench {
namespace {

namespace json = boost::json;

constexpr double giga = 1e9;

double traffic_rate(const device_pack_row& r, double seconds) {
  return static_cast<double>(r.traffic) / seconds;
}
double input_rate(const device_pack_row& r, double seconds) {
  return static_cast<double>(r.input_bytes) / seconds;
}

/// How many times as fast as each of the first kernels.
std::vector<double> factors(const device_report& report, const device_pack_row& of) {
  std::vector<double> all;
  for (const device_pack_row& r : report.rows) {
    if (r.first_kernel) all.push_back(summary(r.seconds).median / summary(of.seconds).median);
  }
  return all;
}

} // namespace

bool device_report::all_right() const { return std::ranges::all_of(rows, &device_pack_row::right); }

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

std::string to_table(const device_report& r) {
  std::string out;
  append(out,
         "packing within the memory of %s: %u events, %.2f GB, compressed %.2f : 1; %s\n"
         "GB/s of what is read once and written once: medians, quartiles in brackets, then as a "
         "part of the copy's; GB/s of what is packed;\n",
         r.device.c_str(), r.events, static_cast<double>(r.input_bytes) / giga, r.ratio,
         r.processor.c_str());
  out += "for the same events, times as fast as";
  for (const device_pack_row& first : r.rows) {
    if (first.first_kernel) out += " [" + first.name + "]";
  }
  out += "\n\n";
  const double copy = traffic_rate(r.rows[0], summary(r.rows[0].seconds).median);
  for (const device_pack_row& row : r.rows) {
    const timing t = summary(row.seconds);
    append(out, "%-36s %9.2f (%9.2f … %9.2f) %6.3f %9.2f  ", row.name.c_str(),
           traffic_rate(row, t.median) / giga, traffic_rate(row, t.high) / giga,
           traffic_rate(row, t.low) / giga, traffic_rate(row, t.median) / copy,
           input_rate(row, t.median) / giga);
    for (const double f : factors(r, row)) append(out, " × %-8.3g", f);
    out += row.right ? "\n" : "  WRONG OUTPUT\n";
  }
  return out;
}

std::string to_json(const device_report& r) {
  const double copy = traffic_rate(r.rows[0], summary(r.rows[0].seconds).median);
  json::array rows;
  for (const device_pack_row& row : r.rows) {
    const timing t = summary(row.seconds);
    json::object times_as_fast_as;
    std::size_t next = 0;
    const std::vector<double> all = factors(r, row);
    for (const device_pack_row& first : r.rows) {
      if (first.first_kernel) times_as_fast_as[first.name] = all[next++];
    }
    rows.push_back(json::object{{"what", row.name},
                                {"traffic_per_second", traffic_rate(row, t.median)},
                                {"low_quartile", traffic_rate(row, t.high)},
                                {"high_quartile", traffic_rate(row, t.low)},
                                {"of_copy", traffic_rate(row, t.median) / copy},
                                {"bytes_per_second", input_rate(row, t.median)},
                                {"times_as_fast_as", times_as_fast_as},
                                {"right", row.right}});
  }
  return json::serialize(json::object{{"bench", "device"},
                                      {"device", r.device},
                                      {"processor", r.processor},
                                      {"events", r.events},
                                      {"input_bytes", r.input_bytes},
                                      {"ratio", r.ratio},
                                      {"rows", rows}}) +
         "\n";
}

plot to_plot(const std::vector<device_report>& by_size) {
  const device_report& last = by_size.back();
  plot p{"Time to pack within the memory of " + last.device + "; " + last.processor,
         "level-2 data (bytes)",
         "time (s)",
         {}};
  for (const device_report& r : by_size) {
    p.lines.resize(r.rows.size());
    for (std::size_t i = 0; i < r.rows.size(); ++i) {
      p.lines[i].name = (r.rows[i].first_kernel ? "first: " : "") + r.rows[i].name;
      p.lines[i].points.emplace_back(static_cast<double>(r.input_bytes),
                                     summary(r.rows[i].seconds).median);
    }
  }
  return p;
}

} // namespace l3::bench
