// SPDX-License-Identifier: Apache-2.0
#include "daemon/monitor/spill_list.hpp"

#include <gtest/gtest.h>

namespace l3 {
namespace {

TEST(spill_list, fetches_each_end_once_and_lists_all) {
  spill_list spills;
  spills.note({7, 100, 2, 102, 1});
  spills.note({8, 50, 0, std::nullopt, 2});
  const auto ended = spills.fetch();
  EXPECT_EQ(ended.count, 2U);
  EXPECT_EQ(ended.latest, (std::vector<spill_summary>{{7, 100, 2, 102, 1}, {8, 50, 0, {}, 2}}));
  EXPECT_EQ(spills.fetch().count, 0U);
  const std::vector<spill_account> expected{{7, 100, 2, 102}, {8, 50, 0, std::nullopt}};
  EXPECT_EQ(spills.all(), expected);
}

TEST(spill_list, two_ends_that_say_the_same_are_one) {
  spill_list spills;
  spills.note({7, 100, 2, 102, 1});
  spills.note({7, 100, 2, 102, 1});
  EXPECT_EQ(spills.fetch().count, 1U);
  EXPECT_EQ(spills.all().size(), 1U);
}

TEST(spill_list, more_of_a_spill_that_ended_takes_the_place_of_what_was_said) {
  spill_list spills;
  spills.note({7, 100, 2, 102, 1});
  for (const std::uint32_t later : {8U, 9U, 10U}) spills.note({later, 50, 0, 50, later});
  (void)spills.fetch();
  spills.note({7, 101, 1, 102, 1});
  EXPECT_EQ(spills.fetch().count, 1U);
  EXPECT_EQ(spills.all().size(), 4U);
  EXPECT_EQ(spills.all().front(), (spill_account{7, 101, 1, 102}));
}

TEST(spill_list, a_number_that_comes_again_is_another_spill) {
  spill_list spills;
  std::uint64_t nth = 0;
  for (const std::uint32_t spill : {7U, 7U, 8U, 7U}) spills.note({spill, 10, 0, 10, ++nth});
  EXPECT_EQ(spills.all().size(), 4U);
}

TEST(spill_list, sums_up_the_oldest_and_tells_the_latest) {
  spill_list spills;
  constexpr std::uint64_t too_many = 3;
  constexpr std::uint64_t all = spill_list::most_spills + too_many;
  for (std::uint64_t n = 1; n <= all; ++n)
    spills.note({static_cast<std::uint32_t>(n % 512), n, 2, n + 2, n});
  EXPECT_EQ(spills.all().size(), spill_list::most_spills);
  EXPECT_EQ(spills.all().front().admitted, too_many + 1);
  EXPECT_EQ(spills.earlier(), (earlier_spills_account{too_many, 1 + 2 + 3, too_many * 2}));
  EXPECT_EQ(spills.in_sum(), (earlier_spills_account{all, all * (all + 1) / 2, all * 2}));
  const auto ended = spills.fetch();
  EXPECT_EQ(ended.count, all);
  EXPECT_EQ(ended.latest.size(), spill_list::most_news);
  EXPECT_EQ(ended.latest.back().nth, all);
}

} // namespace
} // namespace l3
