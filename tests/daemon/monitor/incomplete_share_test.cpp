// SPDX-License-Identifier: Apache-2.0
#include "daemon/monitor/incomplete_line.hpp"

#include <gtest/gtest.h>

namespace l3 {
namespace {

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

TEST_F(shares, more_than_one_in_a_hundred_is_a_trouble_at_once) {
  EXPECT_FALSE(look(0, 1000));
  EXPECT_TRUE(look(100, 1000));
}

TEST_F(shares, a_handful_of_events_says_nothing) {
  EXPECT_FALSE(look(2, 0));
  EXPECT_FALSE(look(2, 0));
  EXPECT_TRUE(look(2, 0));
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
