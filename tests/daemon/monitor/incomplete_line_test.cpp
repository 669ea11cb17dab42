// SPDX-License-Identifier: Apache-2.0
#include "daemon/monitor/incomplete_line.hpp"

#include <gtest/gtest.h>

namespace l3 {
namespace {

using namespace std::chrono_literals;

class incomplete : public testing::Test {
protected:
  std::optional<std::string> look(bool spill_ended) {
    now_ += 500ms;
    return line_.look(counted_, spill_ended, now_);
  }

  building_counters counted_;
  incomplete_line line_{readout::koto()};
  time_point now_{1s};
};

TEST_F(incomplete, events_are_told_with_the_crates_that_they_lack_once_a_spill) {
  counted_.events_incomplete.add(40);
  counted_.fragments_missing.add(11, 39);
  counted_.fragments_missing.add(3, 1);
  EXPECT_EQ(look(false), std::nullopt) << "the spill goes on";
  counted_.events_incomplete.add(20);
  counted_.fragments_missing.add(11, 19);
  counted_.fragments_missing.add(3, 1);
  EXPECT_EQ(look(true), "60 events incomplete: 58 lack crate 11, 2 crate 3");
  EXPECT_EQ(look(true), std::nullopt);
  counted_.events_incomplete.add(1);
  counted_.fragments_missing.add(3, 1);
  EXPECT_EQ(look(true), "1 events incomplete: 1 lack crate 3");
}

TEST_F(incomplete, events_of_a_spill_without_an_end_are_told_after_ten_seconds) {
  counted_.events_incomplete.add(1);
  counted_.fragments_missing.add(0, 1);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(look(false), std::nullopt) << i;
  EXPECT_NE(look(false), std::nullopt);
}

TEST_F(incomplete, events_that_lack_many_crates_name_the_worst) {
  counted_.events_incomplete.add(9);
  for (std::size_t c = 0; c < 9; ++c) counted_.fragments_missing.add(c, c + 1);
  EXPECT_EQ(look(true),
            "9 events incomplete: 9 lack crate 8, 8 crate 7, 7 crate 6, 6 crate 5 and 5 "
            "more crates");
}

TEST_F(incomplete, events_name_the_crate_whose_fragment_is_malformed) {
  counted_.events_incomplete.add(8);
  counted_.fragments_missing.add(3, 1);
  counted_.fragments_malformed.add(11, malformed::conflicting_chunks, 6);
  counted_.fragments_malformed.add(11, malformed::wrong_l1a, 1);
  EXPECT_EQ(look(true), "8 events incomplete: 1 lack crate 3; 7 have a malformed fragment of crate "
                        "11");
  counted_.events_incomplete.add(2);
  counted_.fragments_malformed.add(11, malformed::conflicting_chunks, 2);
  EXPECT_EQ(look(true), "2 events incomplete: 2 have a malformed fragment of crate 11");
  counted_.events_incomplete.add(8);
  counted_.fragments_missing.add(11, 3);
  counted_.fragments_alone.add(11, 5); // which this crate made up
  EXPECT_EQ(look(true),
            "8 events incomplete: 3 lack crate 11; 5 were sent by few crates, among them crate 11");
}

class shares : public testing::Test {
protected:
  bool look(std::uint64_t incomplete, std::uint64_t admitted) {
    return share_.look(incomplete_ += incomplete, admitted_ += admitted);
  }

  incomplete_share share_;
  std::uint64_t incomplete_ = 0;
  std::uint64_t admitted_ = 0;
};

TEST_F(shares, a_few_incomplete_events_are_usual) {
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(look(1, 150)) << i;
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(look(0, 0)) << i;
}

TEST_F(shares, more_than_one_in_a_hundred_is_a_trouble_at_once_but_a_handful_says_nothing) {
  incomplete_share few;
  EXPECT_FALSE(few.look(2, 0));
  EXPECT_FALSE(few.look(4, 0));
  EXPECT_TRUE(few.look(6, 0));
  EXPECT_FALSE(look(0, 1000));
  EXPECT_TRUE(look(100, 1000));
}

TEST_F(shares, it_is_over_after_good_events_or_a_minute_without_any) {
  EXPECT_TRUE(look(600, 400));
  int looks = 0;
  while (look(0, 1500) && looks < 1000) ++looks;
  EXPECT_LT(looks, 80);
  EXPECT_TRUE(look(600, 400));
  looks = 0;
  while (look(0, 0) && looks < 1000) ++looks;
  EXPECT_LT(looks, 120);
}

TEST_F(shares, it_does_not_come_and_go_at_the_limit) {
  int changes = 0;
  bool was = false;
  for (int i = 0; i < 400; ++i) {
    const bool is = look(i % 2 == 0 ? 2 : 1, 150);
    changes += is != was ? 1 : 0;
    was = is;
  }
  EXPECT_LE(changes, 1);
}

} // namespace
} // namespace l3
