// SPDX-License-Identifier: Apache-2.0
#include "daemon/spill_pause.hpp"

#include <gtest/gtest.h>

namespace l3 {
namespace {

using namespace std::chrono_literals;

TEST(spill_pause, is_none_once_a_fragment_has_come_since_the_last_look) {
  spill_pause pause;
  time_point now{1h};
  pause.look(10, true, 0, now);
  EXPECT_FALSE(pause.is_one());
  pause.look(10, false, 0, now += 400ms);
  EXPECT_TRUE(pause.is_one());
  EXPECT_TRUE(pause.is_one(10, 0));
  EXPECT_FALSE(pause.is_one(11, 0));
  EXPECT_FALSE(pause.is_one(10, 1));
}

TEST(spill_pause, takes_ten_seconds_where_no_end_of_a_spill_is_marked) {
  spill_pause pause;
  time_point now{1h};
  pause.look(10, false, 0, now);
  pause.look(10, false, 0, now + 9900ms);
  EXPECT_FALSE(pause.is_one());
  pause.look(10, false, 0, now + 10s);
  EXPECT_TRUE(pause.is_one());
}

} // namespace
} // namespace l3
