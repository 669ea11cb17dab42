// SPDX-License-Identifier: Apache-2.0
// The events that were taken before: each by its numbers, with a mark of its bytes.
#include "transport/building/known_events.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace l3::test {
namespace {

constexpr std::uint32_t most = 5000; // five pages a spill
constexpr std::size_t page = 1024;
constexpr std::size_t plenty = 512 * 5 * page;

TEST(known_events, knows_what_was_added_and_its_neighbours_not) {
  known_events known(most, plenty);
  for (const event_key key : {event_key{0, 1}, {0, most}, {1, 64}, {511, 1}, {511, most}}) {
    EXPECT_FALSE(known.has(key));
    known.add(key, 7 + key.number);
    EXPECT_TRUE(known.has(key));
    EXPECT_FALSE(known.has_another(key, 7 + key.number));
    EXPECT_TRUE(known.has_another(key, 8 + key.number));
    EXPECT_FALSE(known.has_another({key.spill, 2}, 1)) << "it does not have it";
    EXPECT_FALSE(known.has({key.spill, 2}));
    EXPECT_FALSE(known.has({256, key.number}));
  }
}

TEST(known_events, forgets_one_spill) {
  known_events known(most, plenty);
  for (const std::uint32_t spill : {4U, 5U, 6U}) {
    known.add({spill, 1}, 1);
    known.add({spill, most}, 1);
  }
  known.forget(5);
  for (const std::uint32_t number : {1U, most}) {
    EXPECT_TRUE(known.has({4, number}));
    EXPECT_FALSE(known.has({5, number}));
    EXPECT_TRUE(known.has({6, number}));
  }
}

TEST(known_events, forgets_the_oldest_marks_for_want_of_room_and_no_event) {
  known_events known(most, 3 * page);
  const auto number_in = [](std::uint32_t range) { return range * 1024 + 9; };
  for (std::uint32_t range = 0; range < 4; ++range) known.add({1, number_in(range)}, 50);
  EXPECT_TRUE(known.has({1, number_in(0)}));
  EXPECT_FALSE(known.has_another({1, number_in(0)}, 51)) << "its page went to the fourth range";
  for (std::uint32_t range = 1; range < 4; ++range)
    EXPECT_TRUE(known.has_another({1, number_in(range)}, 51)) << range;
  known.add({1, number_in(0) + 1}, 60); // the range gets a page again: that of the second
  EXPECT_TRUE(known.has_another({1, number_in(0) + 1}, 61));
  EXPECT_FALSE(known.has_another({1, number_in(0)}, 51)) << "what the page held is not its mark";
  EXPECT_FALSE(known.has_another({1, number_in(1)}, 51));
  EXPECT_TRUE(known.has_another({1, number_in(2)}, 51));
}

TEST(known_events, gives_a_spill_that_comes_around_pages_of_its_own) {
  known_events known(most, 2 * page);
  known.add({1, 1}, 50);
  known.add({3, 1}, 55);
  known.forget(1);
  known.add({1, 1}, 60); // takes the first page anew, so that the second is the older one
  known.add({2, 1}, 70);
  EXPECT_FALSE(known.has_another({3, 1}, 56));
  EXPECT_TRUE(known.has_another({1, 1}, 61));
  EXPECT_FALSE(known.has_another({1, 1}, 60));
  EXPECT_TRUE(known.has_another({2, 1}, 71));
}

std::uint32_t mark_of(const std::vector<std::uint64_t>& by_crate) {
  event_digest digest;
  for (std::uint32_t c = 0; c < by_crate.size(); ++c) digest.add(c, by_crate[c]);
  return digest.mark();
}

TEST(event_digest, depends_on_each_fragment_and_its_crate) {
  const auto mark = mark_of({10, 20, 30});
  EXPECT_EQ(mark_of({10, 20, 30}), mark);
  EXPECT_NE(mark_of({20, 10, 30}), mark) << "two crates' fragments change places";
  EXPECT_NE(mark_of({10, 20, 31}), mark);
  EXPECT_NE(mark_of({10, 20}), mark);
  EXPECT_NE(mark_of({10, 20, 30, 0}), mark);
}

} // namespace
} // namespace l3::test
