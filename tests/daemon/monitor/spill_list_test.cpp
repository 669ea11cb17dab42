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
  ASSERT_EQ(ended.latest.size(), 2U);
  EXPECT_EQ(ended.latest[0].now, (spill_summary{7, 100, 2, 102, 1}));
  EXPECT_EQ(ended.latest[1].now, (spill_summary{8, 50, 0, {}, 2}));
  EXPECT_EQ(ended.latest[0].before, std::nullopt);
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
  const auto again = spills.fetch();
  EXPECT_EQ(again.count, 1U);
  EXPECT_EQ(again.latest.at(0).before, (spill_summary{7, 100, 2, 102, 1}));
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
    spills.note({static_cast<std::uint32_t>(n % 512), n, 2, n + 3, n, 1});
  EXPECT_EQ(spills.all().size(), spill_list::most_spills);
  EXPECT_EQ(spills.all().front().admitted, too_many + 1);
  EXPECT_EQ(spills.earlier(),
            (earlier_spills_account{too_many, 1 + 2 + 3, too_many * 2, too_many}));
  EXPECT_EQ(spills.in_sum(), (earlier_spills_account{all, all * (all + 1) / 2, all * 2, all}));
  const auto ended = spills.fetch();
  EXPECT_EQ(ended.count, all);
  EXPECT_EQ(ended.latest.size(), spill_list::most_news);
  EXPECT_EQ(ended.latest.back().now.nth, all);
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

spill_list::news ended(const std::vector<spill_summary>& all) {
  spill_list::news n;
  for (const spill_summary& s : all) n.latest.push_back({s, std::nullopt});
  n.count = all.size();
  return n;
}

TEST(spill_lines, say_at_once_what_is_not_whole) {
  spill_lines told;
  EXPECT_EQ(told.note(ended({spill(1, 10, 2, 12), spill(2, 10, 0, 11), spill(3, 10, 1, {})})),
            (lines{"spill 1: 10 events admitted, 2 incomplete, 12 sent",
                   "spill 2: 10 events admitted, 0 incomplete, 11 sent",
                   "spill 3: 10 events admitted, 1 incomplete, ? sent"}));
  EXPECT_FALSE(told.look(time_point(1s)));
  EXPECT_EQ(told.note({{{spill(9, 1, 0, 1), std::nullopt}}, 4}), lines{"and 3 earlier spills"});
  spill_summary lost = spill(10, 5, 0, 9);
  lost.missing = 4;
  EXPECT_EQ(told.note(ended({lost})),
            lines{"spill 10: 5 events admitted, 0 incomplete, 9 sent, 4 missing"});
}

TEST(spill_lines, count_a_spill_once_that_is_reported_again) {
  spill_lines told;
  time_point now{1s};
  const auto note = [&](const spill_summary& s, const spill_summary& before) {
    return told.note({{{s, before}}, 1});
  };
  (void)told.note(ended({spill(1, 100, 0, {})}));
  EXPECT_EQ(note(spill(1, 120, 0, 120), spill(1, 100, 0, {})), lines());
  EXPECT_EQ(told.look(now), "spill 1: whole, 120 events");
  EXPECT_EQ(note(spill(1, 125, 0, 125), spill(1, 120, 0, 120)), lines());
  EXPECT_FALSE(told.look(now += 1h)) << "no further spill has ended";
  (void)told.note(ended({spill(2, 10, 0, {}), spill(3, 10, 0, 10)}));
  EXPECT_EQ(note(spill(2, 10, 2, 12), spill(2, 10, 0, {})).size(), 1U);
  EXPECT_EQ(told.look(now), "spill 3: whole, 15 events") << "with the five of spill 1";
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
