// SPDX-License-Identifier: Apache-2.0
#include "daemon/monitor/state.hpp"

#include <gtest/gtest.h>

#include "daemon/monitor/progress_watch.hpp"

namespace l3 {
namespace {

using namespace std::chrono_literals;

TEST(daemon_state, goes_from_configured_to_stopped_and_is_ready_while_it_computes) {
  daemon_state s;
  EXPECT_FALSE(s.report().ready());
  s.enter(phase::receiving);
  EXPECT_TRUE(s.report().ready());
  s.engine_failed();
  EXPECT_FALSE(s.report().ready());
  s.enter(phase::draining);
  s.enter(phase::stopped);
  EXPECT_EQ(s.report().now, phase::stopped);
  EXPECT_DEATH(s.enter(phase::receiving), "") << "it never goes back";
}

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
