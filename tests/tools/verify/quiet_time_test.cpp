// SPDX-License-Identifier: Apache-2.0
#include "tools/verify/quiet_time.hpp"

#include <gtest/gtest.h>

namespace l3 {
namespace {

using namespace std::chrono_literals;

TEST(quiet_time, is_over_once_after_the_last_block) {
  quiet_time quiet(10s, time_point(100s));
  EXPECT_FALSE(quiet.over(3, time_point(105s)));
  EXPECT_FALSE(quiet.over(3, time_point(115s))) << "ten since the block, not since the start";
  EXPECT_TRUE(quiet.over(3, time_point(116s)));
  EXPECT_FALSE(quiet.over(3, time_point(200s))) << "told already";
  EXPECT_FALSE(quiet.over(4, time_point(201s)));
  EXPECT_TRUE(quiet.over(4, time_point(212s)));
}

TEST(quiet_time, is_over_once_if_no_block_ever_comes) {
  quiet_time quiet(10s, time_point(100s));
  EXPECT_FALSE(quiet.over(0, time_point(110s)));
  EXPECT_TRUE(quiet.over(0, time_point(111s)));
  EXPECT_FALSE(quiet.over(0, time_point(130s)));
}

} // namespace
} // namespace l3
