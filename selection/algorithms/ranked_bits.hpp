// SPDX-License-Identifier: Apache-2.0
// A set of numbers, as bits in shared memory, that gives the rank of each element: how many lower
// numbers are in the set. So a kernel numbers the elements that its lanes insert in any order,
// sorted and without a sort. Call sync() between clear, insert, rank and the queries.
#pragma once

#include <cstdint>

#include "gpu/executors/atomics.hpp"
#include "gpu/executors/bits.hpp"
#include "gpu/executors/block.hpp"

namespace l3 {

/// A set of numbers below `capacity`.
template <std::uint32_t capacity>
class ranked_bits {
  static constexpr std::uint32_t word_bits = 32;
  /// rank() adds within groups, then over groups. The number is odd, so that lanes with one group
  /// each use different banks.
  static constexpr std::uint32_t words_a_group = 11;
  static constexpr std::uint32_t groups = capacity / (words_a_group * word_bits);
  static constexpr std::uint32_t words = groups * words_a_group;
  static_assert(words * word_bits == capacity, "whole groups of words");

public:
  template <block B>
  L3_FN void clear(const B& b) {
    for_each(b, words, [&](std::uint32_t w) { bits_[w] = 0; });
  }

  /// Lanes that insert the same number write one after the other, so a lane first checks whether
  /// the number is there.
  template <block B>
  L3_FN void insert(const B& b, std::uint32_t i) {
    std::uint32_t& word = bits_[i / word_bits];
    const std::uint32_t bit = 1U << i % word_bits;
    if ((observe_within(b, &word) & bit) == 0) set_bits_within(b, &word, bit);
  }

  template <block B>
  L3_FN void rank(const B& b) {
    for_each(b, groups, [&](std::uint32_t g) {
      std::uint32_t count = 0;
      for (std::uint32_t w = g * words_a_group; w < (g + 1) * words_a_group; ++w) {
        before_[w] = count;
        count += ones(bits_[w]);
      }
      in_group_[g] = count;
    });
    b.sync();
    for_each(b, words, [&](std::uint32_t w) {
      for (std::uint32_t g = 0; g < w / words_a_group; ++g) before_[w] += in_group_[g];
    });
  }

  [[nodiscard]] L3_FN bool contains(std::uint32_t i) const {
    return (bits_[i / word_bits] >> i % word_bits & 1U) != 0;
  }
  [[nodiscard]] L3_FN std::uint32_t rank_of(std::uint32_t i) const {
    const std::uint32_t lower = (1U << i % word_bits) - 1;
    return before_[i / word_bits] + ones(bits_[i / word_bits] & lower);
  }
  [[nodiscard]] L3_FN std::uint32_t size() const {
    return before_[words - 1] + ones(bits_[words - 1]);
  }

private:
  std::uint32_t bits_[words];
  std::uint32_t before_[words]; // elements in lower words: first of the group, then of all groups
  std::uint32_t in_group_[groups];
};

} // namespace l3
