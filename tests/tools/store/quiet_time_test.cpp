// SPDX-License-Identifier: Apache-2.0
#include "tools/store/quiet_time.hpp"

#include <gtest/gtest.h>

namespace l3 {
namespace {

TEST(quiet_time, is_over_once_after_the_last_block) {
  quiet_time quiet(10, 100);
  EXPECT_FALSE(quiet.over(3, 105));
  EXPECT_FALSE(quiet.over(3, 115)) << "ten since the block, not since the start";
  EXPECT_TRUE(quiet.over(3, 116));
  EXPECT_FALSE(quiet.over(3, 200)) << "told already";
  EXPECT_FALSE(quiet.over(4, 201));
  EXPECT_TRUE(quiet.over(4, 212));
}

TEST(quiet_time, is_over_once_if_no_block_ever_comes) {
  quiet_time quiet(10, 100);
  EXPECT_FALSE(quiet.over(0, 110));
  EXPECT_TRUE(quiet.over(0, 111));
  EXPECT_FALSE(quiet.over(0, 130));
}

} // namespace
} // namespace l3
