// SPDX-License-Identifier: Apache-2.0
#include "daemon/monitor/progress_watch.hpp"

#include <gtest/gtest.h>

namespace l3 {
namespace {

using namespace std::chrono_literals;

TEST(progress_watch, names_the_thread_that_does_not_move) {
  std::uint64_t fast = 0;
  std::uint64_t slow = 0;
  progress_watch watch(5s);
  watch.add("fast", [&] { return fast; });
  watch.add("slow", [&] { return slow; });
  time_point now{1h};
  EXPECT_EQ(watch.stuck(now), "");
  for (int i = 0; i < 5; ++i) {
    ++fast;
    EXPECT_EQ(watch.stuck(now += 1s), "") << i;
  }
  ++fast;
  EXPECT_EQ(watch.stuck(now += 1s), "slow");
  ++slow;
  EXPECT_EQ(watch.stuck(now += 1s), "");
  EXPECT_EQ(watch.stuck(now += 6s), "fast");
}

} // namespace
} // namespace l3
