// SPDX-License-Identifier: Apache-2.0
// A kernel whose lanes use the same words of shared memory at the same time, by every function of
// gpu/executors/atomics.hpp for shared memory, with a known result.
#pragma once

#include <cstdint>

#include "gpu/executors/atomics.hpp"
#include "gpu/executors/block.hpp"
#include "gpu/memory/column.hpp"

namespace l3::test {

struct use_shared_words {
  static constexpr std::uint32_t width = 64;
  static constexpr std::uint32_t items = 1000;
  static constexpr std::uint64_t step = 0xfedcba9876543211; // odd, and carries into the upper half

  /// A permutation of the numbers below `items` that begins with neither the least nor the
  /// greatest.
  L3_FN static std::uint32_t mixed(std::uint32_t i) { return (i * 387 + 500) % items; }

  struct results {
    std::uint64_t sum;           ///< sum of n × step over all items
    std::uint64_t balance;       ///< sum of equal amounts added and taken away
    std::uint64_t of_all[2];     ///< sums of n × step and of 1, added together
    std::uint64_t of_some[3][2]; ///< the same over the items of each remainder of i
    std::uint64_t most;
    std::uint32_t least;
    std::uint32_t seen[(items + 31) / 32];
    std::uint32_t places[items]; ///< how many items got this place in a list
    std::uint32_t falling;       ///< how many items found more than they stored
    std::uint32_t rising;
    std::uint32_t last; ///< the value of the counter at the end
  };
  struct shared {
    results r;
    std::uint32_t count;
  };

  template <block B>
  L3_FN void operator()(const B& b, shared& s, column<results> out) const {
    for_each(b, items, [&](std::uint32_t i) { s.r.places[i] = 0; });
    for_each(b, 1, [&](std::uint32_t) {
      s.count = 0;
      s.r.sum = 0;
      s.r.balance = 0;
      for (std::uint64_t& sum : s.r.of_all) sum = 0;
      for (auto& sums : s.r.of_some) {
        for (std::uint64_t& sum : sums) sum = 0;
      }
      s.r.most = 0;
      s.r.least = items;
      s.r.falling = 0;
      s.r.rising = 0;
      for (std::uint32_t& word : s.r.seen) word = 0;
    });
    b.sync();
    for_each(b, items, [&](std::uint32_t i) {
      const std::uint32_t n = mixed(i);
      s.r.places[fetch_add_within(b, &s.count, 1)] += 1;
      add_within(b, &s.r.sum, n * step);
      add_within(b, &s.r.balance, i % 2 == 0 ? i * step : 0 - (i - 1) * step);
      add_together_within(b, s.r.of_all, {n * step, 1});
      add_together_within(b, s.r.of_some[i % 3], {n * step, 1});
      set_bits_within(b, &s.r.seen[n / 32], 1U << n % 32);
      if (fetch_min_within(b, &s.r.least, n) > n)
        static_cast<void>(fetch_add_within(b, &s.r.falling, 1));
      if (fetch_max_within(b, &s.r.most, n * (step >> 16)) < n * (step >> 16))
        static_cast<void>(fetch_add_within(b, &s.r.rising, 1));
    });
    b.sync();
    for_each(b, 1, [&](std::uint32_t) {
      s.r.last = observe_within(b, &s.count);
      out[b.index()] = s.r;
    });
  }
};

} // namespace l3::test
