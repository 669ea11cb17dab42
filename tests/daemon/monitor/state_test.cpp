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

TEST(progress_watch, names_the_thread_that_does_not_move_and_sooner_if_it_has_work) {
  std::uint64_t fast = 0;
  std::uint64_t slow = 0;
  bool waits = false;
  progress_watch watch;
  watch.add("fast", [&] { return fast; });
  watch.add(
      "slow", [&] { return slow; }, [&] { return waits; });
  time_point now{1h};
  const auto look = [&](std::chrono::nanoseconds later = 500ms) {
    ++fast;
    return watch.stuck(now += later);
  };
  for (int i = 0; i <= 10; ++i) EXPECT_EQ(look(), "") << i;
  EXPECT_EQ(look(), "slow");
  ++slow;
  waits = true;
  for (int i = 0; i <= 4; ++i) EXPECT_EQ(look(), "") << i;
  EXPECT_EQ(look(), "slow");
  ++slow;
  EXPECT_EQ(look(), "");
  EXPECT_EQ(look(1min), "") << "the process was stopped, with all its threads";
}

} // namespace
} // namespace l3
