// SPDX-License-Identifier: Apache-2.0
// The cases of find_end, which must pass on every executor. A program that includes this header
// names the executors it tests.
#pragma once

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "selection/packing/look_back.hpp"
#include "tests/gpu/decode/decode_memory.hpp"
#include "tests/gpu/executors/on_executor.hpp"

namespace l3::test {

/// A kernel that finds the ends of tiles of given lengths.
struct find_ends {
  static constexpr std::uint32_t width = 128;

  struct shared {
    look_back::shared looks;
    std::uint32_t ticket;
  };

  struct tiles {
    column<const std::uint64_t> lengths; // position_words
    column<std::uint64_t> positions;
    column<std::uint64_t> ends;
    std::uint32_t* next;
  };

  template <block B>
  L3_FN void operator()(const B& b, shared& s, tiles all) const {
    for_each(b, 1, [&](std::uint32_t) { s.ticket = fetch_add(b, all.next, 1); });
    b.sync();
    const std::uint32_t t = s.ticket;
    const std::uint64_t end = find_end(b, s.looks, t, position_word(all.lengths[t]), all.positions);
    for_each(b, 1, [&](std::uint32_t) { all.ends[t] = end; });
  }
};

/// Random lengths; about one tile in `firsts` is the first of its event, with 0 none.
inline std::vector<std::uint64_t> make_lengths(std::uint32_t n, std::uint32_t firsts,
                                               randomness& r) {
  std::vector<std::uint64_t> lengths;
  for (std::uint32_t t = 0; t < n; ++t) {
    const bool first = firsts != 0 && below(r, firsts) == 0;
    lengths.push_back(position_word::after_previous(below(r, 40), first).word());
  }
  return lengths;
}

inline std::vector<std::uint64_t> ends_of(const std::vector<std::uint64_t>& lengths) {
  std::vector<std::uint64_t> ends;
  for (const std::uint64_t word : lengths)
    ends.push_back(position_word(word).end(ends.empty() ? 0 : ends.back()));
  return ends;
}

template <class Executor>
class looking_back : public on_executor<Executor> {};
TYPED_TEST_SUITE_P(looking_back);

TYPED_TEST_P(looking_back, finds_every_end_and_tells_it) {
  auto queue = TypeParam::make();
  randomness r(9);
  const auto at = [](const auto& memory, std::size_t n) {
    return reinterpret_cast<std::uint64_t*>(memory.bytes().data()) + n;
  };
  for (const std::uint32_t n :
       {1U, 2U, 31U, 32U, 33U, 128U, 129U, TypeParam::slow ? 200U : 5000U}) {
    for (const std::uint32_t firsts : {0U, 1U, 3U, 40U}) {
      const auto lengths = make_lengths(n, firsts, r);
      // One after the other in memory: lengths, positions, ends, the counter of tickets.
      std::vector<std::uint64_t> words(3 * n + 1);
      std::copy(lengths.begin(), lengths.end(), words.begin());
      lent_memory memory(queue, words.size() * sizeof words[0]);
      memory.write(words.data(), words.size() * sizeof words[0]);
      queue.run(find_ends{}, n,
                find_ends::tiles{{at(memory, 0), n},
                                 {at(memory, n), n},
                                 {at(memory, 2 * n), n},
                                 reinterpret_cast<std::uint32_t*>(at(memory, 3 * n))});
      memory.read(words.data());
      const auto expected = ends_of(lengths);
      for (std::uint32_t t = 0; t < n; ++t) {
        ASSERT_EQ(words[2 * n + t], expected[t]) << "tile " << t << " of " << n;
        const position_word told(words[n + t]); // a hesitant queue drops most ends
        ASSERT_TRUE(told.is_known());
        ASSERT_TRUE(told.is_relative() || told.bytes() == expected[t]);
      }
    }
  }
}

TYPED_TEST_P(looking_back, passes_over_any_number_of_tiles_that_know_only_their_lengths) {
  auto queue = TypeParam::make();
  randomness r(4);
  for (const std::uint32_t firsts : {0U, 1U, 3U, 40U}) {
    for (const std::uint32_t known : {0U, 1U, 31U, 32U, 33U, 63U, 64U, 65U, 100U}) {
      // Tile 5 has published its end, the `known` tiles behind it their lengths. No tile needs the
      // words of the tiles before.
      constexpr std::uint32_t told = 5;
      const std::uint32_t mine = told + known + 1;
      const std::uint32_t n = mine + 1;
      const auto lengths = make_lengths(n, firsts, r);
      const auto expected = ends_of(lengths);
      std::vector<std::uint64_t> words(3 * n + 1);
      std::copy(lengths.begin(), lengths.end(), words.begin());
      std::copy(lengths.begin() + told, lengths.begin() + mine, words.begin() + n + told);
      words[n + told] = position_word::at(expected[told]).word();
      words[3 * n] = mine; // the ticket of the only block
      lent_memory memory(queue, words.size() * sizeof words[0]);
      memory.write(words.data(), words.size() * sizeof words[0]);
      auto* const at = reinterpret_cast<std::uint64_t*>(memory.bytes().data());
      queue.run(
          find_ends{}, 1U,
          find_ends::tiles{
              {at, n}, {at + n, n}, {at + 2 * n, n}, reinterpret_cast<std::uint32_t*>(at + 3 * n)});
      memory.read(words.data());
      ASSERT_EQ(words[2 * n + mine], expected[mine]) << known << " tiles, " << firsts;
    }
  }
}

REGISTER_TYPED_TEST_SUITE_P(looking_back, finds_every_end_and_tells_it,
                            passes_over_any_number_of_tiles_that_know_only_their_lengths);

} // namespace l3::test
