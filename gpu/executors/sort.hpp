// SPDX-License-Identifier: Apache-2.0
// Sorts 64-bit numbers in the shared memory of a block, by a merge sort like that of the CBM seed.
// Each item of a first for_each sorts a short run by insertion. Then runs are merged pairwise: each
// item writes one part of the merged run and finds by bisection which keys precede its part. There
// are as many parts as lanes, so a block of one lane merges as in a textbook, and a wide block
// bisects for every key.
//
// A key contains all of its data. Equal keys are indistinguishable, so the result does not depend
// on the order of the keys, nor on the width.
#pragma once

#include <cstdint>

#include "gpu/executors/block.hpp"

namespace l3 {

/// The caller puts at most `capacity` keys into `keys`, where they are sorted.
template <std::uint32_t capacity>
struct sort_space {
  std::uint64_t keys[capacity];
  std::uint64_t other[capacity]; ///< scratch of the sort; the caller may use it before and after
};

/// Length of the runs that are sorted by insertion, a power of two. With longer runs the lanes of a
/// device wait for the slowest; shorter runs cost more passes.
inline constexpr std::uint32_t insertion_run = 16;

namespace sorting {

/// Writes the i-th run of `from`, sorted, to the same places of `to`, which may be `from`.
L3_FN inline void insert_run(const std::uint64_t* from, std::uint64_t* to, std::uint32_t i,
                             std::uint32_t n) {
  const std::uint32_t first = i * insertion_run;
  const std::uint32_t left = n - first;
  const std::uint32_t last = first + (left < insertion_run ? left : insertion_run);
  for (std::uint32_t k = first; k < last; ++k) {
    const std::uint64_t key = from[k];
    std::uint32_t at = k;
    for (; at > first && key < to[at - 1]; --at) to[at] = to[at - 1];
    to[at] = key;
  }
}

/// Merges two neighbouring runs of `width` keys (fewer at the end of the data) and writes the keys
/// first … last − 1 of the result. Equal keys of the left run come first.
L3_FN inline void merge_part(const std::uint64_t* from, std::uint64_t* to, std::uint32_t first,
                             std::uint32_t last, std::uint32_t n, std::uint32_t width) {
  const std::uint32_t pair = first & ~(2 * width - 1);
  const std::uint32_t lefts = n - pair < width ? n - pair : width;
  const std::uint32_t rest = n - pair - lefts;
  const std::uint32_t rights = rest < width ? rest : width;
  const std::uint64_t* const left = from + pair;
  const std::uint64_t* const right = left + lefts;

  // The number of keys before `first` that come from the left run.
  const std::uint32_t before = first - pair;
  std::uint32_t l = before < rights ? 0 : before - rights;
  for (std::uint32_t most = before < lefts ? before : lefts; l < most;) {
    const std::uint32_t middle = (l + most) / 2;
    if (left[middle] <= right[before - 1 - middle]) {
      l = middle + 1;
    } else {
      most = middle;
    }
  }
  std::uint32_t r = before - l;
  while (first < last && l < lefts && r < rights) {
    const std::uint64_t x = left[l];
    const std::uint64_t y = right[r];
    const std::uint32_t from_left = x <= y ? 1 : 0;
    to[first++] = from_left != 0 ? x : y;
    l += from_left;
    r += 1 - from_left;
  }
  for (; first < last; ++first) to[first] = l < lefts ? left[l++] : right[r++];
}

} // namespace sorting

/// Sorts the first n of space.keys, n ≤ capacity, in rising order. The caller calls sync() after
/// writing the keys; the sorted keys are visible to all lanes on return. n is the same in all
/// lanes.
template <std::uint32_t capacity, block B>
L3_FN void sort_block(const B& b, sort_space<capacity>& space, std::uint32_t n) {
  std::uint32_t passes = 0;
  for (std::uint32_t width = insertion_run; width < n; width *= 2) ++passes;
  // Every pass goes from one buffer to the other; with this first buffer the last pass ends in
  // keys.
  std::uint64_t* from = space.keys;
  std::uint64_t* to = passes % 2 == 0 ? space.keys : space.other;
  for_each(b, (n + insertion_run - 1) / insertion_run,
           [&](std::uint32_t i) { sorting::insert_run(from, to, i, n); });
  b.sync();
  from = to;
  for (std::uint32_t width = insertion_run; width < n; width *= 2) {
    to = from == space.keys ? space.other : space.keys;
    // Parts are powers of two, so that no part crosses a border between merged runs.
    std::uint32_t part = 2 * width;
    while (part > 1 && part * b.threads() >= 2 * n) part /= 2;
    for_each(b, (n + part - 1) / part, [&](std::uint32_t i) {
      const std::uint32_t left = n - i * part;
      sorting::merge_part(from, to, i * part, i * part + (left < part ? left : part), n, width);
    });
    b.sync();
    from = to;
  }
}

} // namespace l3
