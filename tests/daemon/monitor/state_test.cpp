// SPDX-License-Identifier: Apache-2.0
#include "daemon/monitor/state.hpp"

#include <gtest/gtest.h>

#include "daemon/monitor/progress_watch.hpp"

namespace l3 {
namespace {

using namespace std::chrono_literals;

TEST(daemon_state, goes_from_configured_to_stopped) {
  daemon_state s;
  EXPECT_EQ(s.report().text(), "configured");
  EXPECT_FALSE(s.report().ready());
  s.enter(phase::receiving);
  EXPECT_TRUE(s.report().ready());
  s.enter(phase::draining);
  EXPECT_FALSE(s.report().ready());
  s.enter(phase::stopped);
  EXPECT_EQ(s.report().text(), "stopped");
  EXPECT_DEATH(s.enter(phase::receiving), "") << "it never goes back";
}

TEST(daemon_state, tells_each_trouble_once) {
  daemon_state s;
  s.enter(phase::receiving);
  EXPECT_TRUE(s.set(trouble::outbox_full, true));
  EXPECT_FALSE(s.set(trouble::outbox_full, true));
  EXPECT_TRUE(s.set(trouble::receiver_absent, true));
  EXPECT_EQ(s.report().text(), "receiving, degraded: receiver_absent outbox_full");
  EXPECT_TRUE(s.set(trouble::outbox_full, false));
  EXPECT_FALSE(s.set(trouble::outbox_full, false));
  EXPECT_EQ(s.report().text(), "receiving, degraded: receiver_absent");
}

TEST(daemon_state, says_where_a_receiver_is_missing_and_what_to_do) {
  const std::string text = advice_on(trouble::receiver_absent, "tcp://far:42200");
  EXPECT_NE(text.find("no receiver answers at tcp://far:42200"), std::string::npos) << text;
  EXPECT_NE(text.find("start `koto-l3 receive`"), std::string::npos) << text;
  for (std::size_t t = 0; t < troubles; ++t)
    EXPECT_NE(advice_on(static_cast<trouble>(t), ""), "unknown") << t;
}

TEST(daemon_state, degraded_is_ready_as_long_as_something_can_be_computed) {
  daemon_state s;
  s.enter(phase::receiving);
  s.set(trouble::receiver_absent, true);
  EXPECT_TRUE(s.report().degraded());
  EXPECT_TRUE(s.report().ready());
  s.set(trouble::engine_error, true);
  EXPECT_FALSE(s.report().ready());
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
