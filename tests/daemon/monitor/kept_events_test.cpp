// SPDX-License-Identifier: Apache-2.0
#include "daemon/monitor/kept_events.hpp"

#include <gtest/gtest.h>

namespace l3 {
namespace {

using namespace std::chrono_literals;

std::vector<std::byte> event(unsigned n) { return {std::byte(n), std::byte(n + 1)}; }

TEST(kept_events, are_the_latest_two_of_those_that_come_two_seconds_apart) {
  kept_events kept;
  EXPECT_EQ(kept.latest()[0], nullptr);
  kept.offer(event(1), time_point(10s));
  kept.offer(event(2), time_point(11s));
  ASSERT_NE(kept.latest()[0], nullptr);
  EXPECT_EQ(*kept.latest()[0], event(1)) << "the second came too soon";
  EXPECT_EQ(kept.latest()[1], nullptr);
  const auto held = kept.latest()[0];
  for (unsigned n = 3; n < 6; ++n) kept.offer(event(n), time_point(n * 4s));
  EXPECT_EQ(*kept.latest()[0], event(5));
  EXPECT_EQ(*kept.latest()[1], event(4));
  EXPECT_EQ(*held, event(1)) << "who has it keeps it";
}

TEST(a_page_of_kept_events, is_made_once_for_each) {
  kept_events kept;
  int made = 0;
  page_of_kept page(kept, [&] { return std::to_string(++made); });
  EXPECT_EQ(*page.text(), "1");
  EXPECT_EQ(*page.text(), "1") << "there is still no event";
  const std::vector<std::byte> same(10);
  kept.offer(same, time_point{});
  EXPECT_EQ(*page.text(), "2");
  EXPECT_EQ(*page.text(), "2");
  kept.offer(same, time_point{} + kept_events::period);
  EXPECT_EQ(*page.text(), "3") << "another one with the same bytes";
}

} // namespace
} // namespace l3
