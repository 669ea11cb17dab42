// SPDX-License-Identifier: Apache-2.0
#include "bench/selection/sorting.hpp"

#include <algorithm>
#include <random>
#include <stdexcept>

#include <boost/json.hpp>

#include "gpu/executors/pool.hpp"
#include "tools/figures/text.hpp"

namespace l3::bench {

sort_work::sort_work(std::uint32_t segments_asked, std::uint32_t keys_asked)
    : segments(segments_asked), keys_per_segment(keys_asked) {
  if (keys_per_segment > max_segment) throw std::invalid_argument("a segment of too many keys");
  std::mt19937_64 random(keys_per_segment);
  keys.resize(std::size_t{segments} * keys_per_segment);
  std::ranges::generate(keys, random);
  sorted = keys;
  for (auto first = sorted.begin(); first != sorted.end(); first += keys_per_segment)
    std::sort(first, first + keys_per_segment);
}

sort_row sort_on_one_core(const sort_work& work, std::uint32_t rounds) {
  constexpr std::uint64_t poison = 0xa5a5a5a5a5a5a5a5U;
  const auto size = static_cast<std::uint32_t>(work.keys.size());
  std::vector<std::uint64_t> ours(size);
  std::vector<std::uint64_t> theirs(size);
  thread_pool one_thread(1);
  pool_queue queue(one_thread);
  const std::vector<entrant> entrants = {
      {"sort_block", [&] { std::ranges::fill(ours, poison); },
       [&] {
         queue.run(sort_segments{}, work.segments,
                   column<const std::uint64_t>(work.keys.data(), size),
                   column<std::uint64_t>(ours.data(), size), work.keys_per_segment);
       },
       [&] { return ours == work.sorted; }},
      {"std::sort", [&] { std::ranges::fill(theirs, poison); },
       [&] {
         std::ranges::copy(work.keys, theirs.begin());
         for (auto first = theirs.begin(); first != theirs.end(); first += work.keys_per_segment)
           std::sort(first, first + work.keys_per_segment);
       },
       [&] { return theirs == work.sorted; }}};
  const std::vector<timing> times = measure(entrants, {rounds, 1, true});
  return {"one CPU core", work.segments, work.keys_per_segment, "std::sort", times[0], times[1]};
}

bool sort_report::all_right() const { return std::ranges::all_of(rows, &sort_row::right); }

std::string to_table(const sort_report& r) {
  constexpr double mega = 1e6;
  std::string out;
  append(
      out,
      "M keys/s of 64 bits sorted in segments: medians, quartiles in brackets, then as a part of "
      "the library's; %s\n\n",
      r.processor.c_str());
  for (const sort_row& row : r.rows) {
    const auto rate = [&](double seconds) { return row.keys_per_second(seconds) / mega; };
    append(out, "%-24s %5u × %4u keys %9.1f (%9.1f … %9.1f) %6.3f of %s%s\n", row.where.c_str(),
           row.segments, row.keys_per_segment, rate(row.ours.median), rate(row.ours.high),
           rate(row.ours.low), row.theirs.median / row.ours.median, row.library.c_str(),
           row.right() ? "" : "  WRONG OUTPUT");
  }
  if (!r.no_device.empty()) append(out, "on a device: not measured, %s\n", r.no_device.c_str());
  return out;
}

std::string to_json(const sort_report& r) {
  namespace json = boost::json;
  json::array rows;
  for (const sort_row& row : r.rows) {
    rows.push_back(json::object{{"where", row.where},
                                {"segments", row.segments},
                                {"keys_per_segment", row.keys_per_segment},
                                {"keys_per_second", row.keys_per_second(row.ours.median)},
                                {"low_quartile", row.keys_per_second(row.ours.high)},
                                {"high_quartile", row.keys_per_second(row.ours.low)},
                                {"library", row.library},
                                {"library_keys_per_second", row.keys_per_second(row.theirs.median)},
                                {"of_library", row.theirs.median / row.ours.median},
                                {"right", row.right()}});
  }
  return json::serialize(json::object{{"bench", "sort"},
                                      {"processor", r.processor},
                                      {"no_device", r.no_device},
                                      {"rows", rows}}) +
         "\n";
}

} // namespace l3::bench
