// SPDX-License-Identifier: Apache-2.0
#include "transport/store/stored_sessions.hpp"

#include <limits>
#include <random>
#include <set>

#include <gtest/gtest.h>

namespace l3 {
namespace {

constexpr std::uint64_t session = 42;

block_header block_of(std::uint64_t number) {
  block_header h;
  h.session = session;
  h.sequence = number;
  h.events = 10;
  h.payload_bytes = 1000;
  h.run = 7;
  h.node = 3;
  return h;
}

TEST(stored_sessions, sum_up_what_is_written) {
  stored_sessions all;
  EXPECT_EQ(all.find(session), nullptr);
  for (std::uint64_t n = 1; n <= 3; ++n) (void)all.add(block_of(n));
  EXPECT_TRUE(all.has_uncommitted());
  all.commit();
  EXPECT_FALSE(all.has_uncommitted());
  const stored_session& s = *all.find(session);
  EXPECT_EQ(s.blocks, 3U);
  EXPECT_EQ(s.events, 30U);
  EXPECT_EQ(s.bytes, 3000U);
  EXPECT_EQ(s.run, 7U);
  EXPECT_EQ(s.node, 3U);
  EXPECT_EQ(s.numbers.last(), 3U);
}

TEST(stored_sessions, take_back_what_is_not_committed) {
  stored_sessions all;
  (void)all.add(block_of(1));
  all.commit();
  (void)all.add(block_of(2));
  (void)all.add(block_of(3));
  all.take_back();
  EXPECT_EQ(all.find(session)->events, 10U);
  EXPECT_EQ(all.find(session)->numbers.last(), 1U);
  stored_sessions none;
  (void)none.add(block_of(1));
  none.take_back();
  EXPECT_EQ(none.find(session), nullptr);
}

/// The definition: what is surely stored, and what else is there.
struct plainly {
  std::uint64_t sure = 0;
  std::set<std::uint64_t> there;

  [[nodiscard]] std::uint64_t last(std::uint64_t first) const {
    std::uint64_t last = sure;
    for (const auto n : there) {
      if (n <= std::max(last + 1, first)) last = std::max(last, n);
    }
    return last;
  }
};

TEST(stored_numbers, are_what_their_definition_says) {
  constexpr int rounds = 300;
  constexpr std::uint64_t most = 20;
  std::mt19937 random(1);
  const auto any = [&](std::uint64_t below) {
    return std::uniform_int_distribution<std::uint64_t>(0, below - 1)(random);
  };
  for (int round = 0; round < rounds; ++round) {
    stored_numbers numbers;
    plainly expected;
    for (std::uint64_t step = 0; step < most; ++step) {
      const std::uint64_t n = any(most);
      if (any(4) == 0) {
        numbers.add(n);
        expected.sure = std::max(expected.sure, n);
      } else {
        numbers.add_behind_damage(n);
        expected.there.insert(n);
      }
      for (std::uint64_t first = 0; first <= most + 1; ++first)
        ASSERT_EQ(numbers.last(first), expected.last(first)) << round << ' ' << step;
    }
  }
}

TEST(stored_numbers, have_a_greatest_one) {
  constexpr auto greatest = std::numeric_limits<std::uint64_t>::max();
  stored_numbers numbers;
  numbers.add_behind_damage(greatest);
  EXPECT_EQ(numbers.last(), 0U);
  EXPECT_EQ(numbers.last(greatest), greatest);
  numbers.add(greatest - 1);
  EXPECT_EQ(numbers.last(), greatest);
  numbers.add_behind_damage(1);
  EXPECT_EQ(numbers.last(), greatest);
}

} // namespace
} // namespace l3
