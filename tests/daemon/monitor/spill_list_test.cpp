// SPDX-License-Identifier: Apache-2.0
#include "daemon/monitor/spill_list.hpp"

#include <gtest/gtest.h>

namespace l3 {
namespace {

using namespace std::chrono_literals;

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

TEST(spill_list, more_of_a_spill_that_ended_takes_the_place_of_what_was_said) {
  spill_list spills;
  spills.note({7, 100, 2, 102, 1});
  spills.note({7, 100, 2, 102, 1}); // an end that says the same
  EXPECT_EQ(spills.fetch().count, 1U);
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

using lines = std::vector<std::string>;

spill_summary spill(std::uint32_t number, std::uint64_t admitted, std::uint64_t incomplete,
                    std::optional<std::uint64_t> expected) {
  spill_summary s;
  s.spill = number;
  s.admitted = admitted;
  s.incomplete = incomplete;
  s.expected = expected;
  return s;
}

spill_list::news ended(std::vector<spill_summary> all) {
  const std::size_t count = all.size();
  return {std::move(all), count};
}

TEST(spill_lines, say_at_once_what_is_not_whole) {
  spill_lines told;
  EXPECT_EQ(told.note(ended({spill(1, 10, 2, 12), spill(2, 10, 0, 11), spill(3, 10, 1, {})})),
            (lines{"spill 1: 10 events admitted, 2 incomplete, 12 sent",
                   "spill 2: 10 events admitted, 0 incomplete, 11 sent",
                   "spill 3: 10 events admitted, 1 incomplete, ? sent"}));
  EXPECT_FALSE(told.look(time_point(1s)));
  EXPECT_EQ(told.note({{spill(9, 1, 0, 1)}, 4}), lines{"and 3 earlier spills"});
}

TEST(spill_lines, are_one_a_minute_when_all_is_well) {
  spill_lines told;
  std::vector<std::string> all;
  for (std::uint32_t n = 1; n <= 25; ++n) {
    EXPECT_EQ(told.note(ended({spill(n, 100, 0, 100)})), lines());
    for (int half = 0; half < 2; ++half) // a spill every 5 s
      if (const auto line = told.look(time_point(5s * n + 500ms * half))) all.push_back(*line);
  }
  EXPECT_EQ(all, (lines{"spill 1: whole, 100 events", "spills 2 to 13: 12 whole ones, 1200 events",
                        "spills 14 to 25: 12 whole ones, 1200 events"}));
  EXPECT_FALSE(told.look(time_point(10min))) << "no spill has ended since";
}

} // namespace
} // namespace l3
