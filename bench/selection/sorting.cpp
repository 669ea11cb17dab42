// SPDX-License-Identifier: Apache-2.0
#include "bench/selection/sorting.hpp"

#include <algorithm>
#include <random>
#include <stdexcept>

#include "gpu/executors/pool.hpp"

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
  constexpr std::uint64_t poison = 0x0101010101010101U * poison_byte;
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
  const std::vector<timing> times = measure(entrants, {rounds, 1, start::hot});
  return {"one CPU core", work.segments, work.keys_per_segment, "std::sort", times[0], times[1]};
}

} // namespace l3::bench
