// SPDX-License-Identifier: Apache-2.0
// The marks of chunks, and the latest events whose chunks are known.
#include "transport/building/known_chunks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace l3::test {
namespace {

using bytes = std::vector<std::byte>;

bytes chunk_of(std::size_t size) {
  bytes b(size);
  for (std::size_t i = 0; i < size; ++i) b[i] = static_cast<std::byte>(i * 37 + 11);
  return b;
}

TEST(chunk_marks, tell_each_byte_at_both_ends) {
  for (const std::size_t size : {2U, 14U, 16U, 18U, 30U, 32U, 1400U, 8000U}) {
    const auto chunk = chunk_of(size);
    const auto mark = mark_of(chunk);
    EXPECT_NE(mark, no_mark);
    EXPECT_EQ(mark, mark_of(bytes(chunk)));
    for (std::size_t i = 0; i < size; ++i) {
      if (i >= 16 && i + 16 < size) continue;
      auto other = chunk;
      other[i] ^= std::byte{1};
      EXPECT_NE(mark_of(other), mark) << "byte " << i << " of " << size;
    }
  }
}

TEST(chunk_marks, tell_lengths) {
  std::vector<chunk_mark> marks;
  for (const std::size_t size : {2U, 4U, 16U, 32U, 1398U, 1400U})
    marks.push_back(mark_of(bytes(size, std::byte{0})));
  std::ranges::sort(marks);
  EXPECT_EQ(std::ranges::adjacent_find(marks), marks.end());
}

TEST(chunk_marks, are_the_same_in_pieces_and_in_one) {
  constexpr std::uint32_t chunk = 100;
  const auto fragment = chunk_of(250);
  bytes apart(1000);
  const std::vector<piece_offset> pieces{600, 0, 304};
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    const auto part = std::span(fragment).subspan(p * chunk);
    std::ranges::copy(part.first(std::min<std::size_t>(chunk, part.size())),
                      apart.begin() + pieces[p]);
  }
  const piece_offset none = 0;
  std::vector<chunk_mark> of_pieces(4, 77);
  std::vector<chunk_mark> of_one(4, 77);
  const fragment_pieces in_pieces{apart.data(), pieces.data(), chunk, 250};
  const fragment_pieces in_one{fragment.data(), &none, 252, 250};
  fragment_chunks(in_pieces, chunk).mark(of_pieces);
  fragment_chunks(in_one, chunk).mark(of_one);
  EXPECT_EQ(of_pieces, of_one);
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    const auto part = std::span(fragment).subspan(p * chunk);
    EXPECT_EQ(of_one[p], mark_of(part.first(std::min<std::size_t>(chunk, part.size()))));
  }
  EXPECT_EQ(of_one[3], no_mark);
}

constexpr std::uint32_t events = 8;
constexpr std::uint32_t crates = 2;
constexpr std::uint32_t chunks = 3;

class known_chunks_of_eight_events : public testing::Test {
protected:
  /// The event's chunks are of its number of bytes, times two.
  void remember(event_key key) {
    std::vector<chunk_mark> marks(std::size_t{crates} * chunks, mark_of(chunk_of(2 * key.number)));
    marks.back() = no_mark;
    known.remember(key, marks);
  }
  bool has(event_key key) {
    return known.has_another(key, 0, 0, mark_of(chunk_of(2 * key.number + 2))) &&
           !known.has_another(key, 0, 0, mark_of(chunk_of(2 * key.number)));
  }

  known_chunks known{events, crates, chunks};
};

TEST_F(known_chunks_of_eight_events, tell_each_chunk_of_each_crate) {
  EXPECT_FALSE(known.has_another({1, 5}, 0, 0, mark_of(chunk_of(8)))) << "nothing is known yet";
  remember({1, 5});
  for (std::uint32_t crate = 0; crate < crates; ++crate) {
    for (std::uint32_t chunk = 0; chunk < chunks; ++chunk) {
      const bool marked = crate + 1 < crates || chunk + 1 < chunks;
      EXPECT_EQ(known.has_another({1, 5}, crate, chunk, mark_of(chunk_of(8))), marked);
      EXPECT_FALSE(known.has_another({1, 5}, crate, chunk, mark_of(chunk_of(10))));
    }
  }
  EXPECT_FALSE(known.has_another({1, 6}, 0, 0, mark_of(chunk_of(8))));
  EXPECT_FALSE(known.has_another({2, 5}, 0, 0, mark_of(chunk_of(8))));
}

TEST_F(known_chunks_of_eight_events, are_of_the_latest_of_a_spill) {
  for (std::uint32_t number = 1; number <= 11; ++number) remember({1, number});
  for (std::uint32_t number = 1; number <= 11; ++number)
    EXPECT_EQ(has({1, number}), number > 3) << number;
}

TEST_F(known_chunks_of_eight_events, are_of_two_spills_of_half_as_many) {
  for (const std::uint32_t spill : {511U, 0U, 1U}) {
    for (std::uint32_t number = 1; number <= events / 2; ++number) remember({spill, number});
  }
  for (std::uint32_t number = 1; number <= events / 2; ++number) {
    EXPECT_FALSE(has({511, number}));
    EXPECT_TRUE(has({0, number}));
    EXPECT_TRUE(has({1, number}));
  }
}

TEST_F(known_chunks_of_eight_events, are_of_the_two_latest_spills_whatever_their_numbers) {
  std::uint32_t before = 3;
  remember({before, 1});
  for (const std::uint32_t spill : {259U, 261U, 4U, 6U, 5U, 7U}) {
    remember({spill, 1});
    EXPECT_TRUE(has({before, 1})) << before << " and " << spill;
    EXPECT_TRUE(has({spill, 1}));
    before = spill;
  }
}

TEST_F(known_chunks_of_eight_events, name_a_crate_once) {
  remember({1, 5});
  EXPECT_TRUE(known.set_conflicting({1, 5}, 1));
  EXPECT_FALSE(known.set_conflicting({1, 5}, 1));
  EXPECT_TRUE(known.set_conflicting({1, 5}, 0));
  remember({1, 5}); // under the same number, 512 spills later
  EXPECT_TRUE(known.set_conflicting({1, 5}, 1));
}

} // namespace
} // namespace l3::test
