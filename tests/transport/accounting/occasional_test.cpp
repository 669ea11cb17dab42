// SPDX-License-Identifier: Apache-2.0
#include "transport/accounting/occasional.hpp"

#include <gtest/gtest.h>

namespace l3 {
namespace {

using namespace std::chrono_literals;

TEST(occasional, says_the_first_at_once_and_then_a_count_per_interval) {
  occasional news(10s);
  const time_point t0{};
  EXPECT_EQ(news.happened(t0), 1U);
  EXPECT_EQ(news.happened(t0 + 1s), std::nullopt);
  EXPECT_EQ(news.happened(t0 + 9s, 5), std::nullopt);
  EXPECT_EQ(news.happened(t0 + 10s), 7U);
  EXPECT_EQ(news.happened(t0 + 19s), std::nullopt);
}

TEST(occasional, tells_the_end_of_a_burst_when_asked) {
  occasional news(10s);
  const time_point t0{};
  EXPECT_EQ(news.due(t0), std::nullopt);
  EXPECT_EQ(news.happened(t0), 1U);
  EXPECT_EQ(news.happened(t0 + 1s, 3), std::nullopt);
  EXPECT_EQ(news.due(t0 + 5s), std::nullopt);
  EXPECT_EQ(news.due(t0 + 11s), 3U);
  EXPECT_EQ(news.due(t0 + 30s), std::nullopt);
}

TEST(occasional, a_lone_occurrence_after_a_pause_is_told_at_once) {
  occasional news(10s);
  EXPECT_EQ(news.happened(time_point{}), 1U);
  EXPECT_EQ(news.happened(time_point{} + 60s), 1U);
}

TEST(line_budget, lets_a_burst_through_and_then_one_line_in_each_interval) {
  line_budget lines(3, 10s);
  const time_point t0 = time_point() + 1h;
  for (int n = 0; n < 3; ++n) EXPECT_EQ(lines.take(t0), 0U);
  for (int n = 0; n < 5; ++n) EXPECT_EQ(lines.take(t0 + 9s), std::nullopt);
  EXPECT_EQ(lines.take(t0 + 10s), 5U);
  EXPECT_EQ(lines.take(t0 + 19s), std::nullopt);
  EXPECT_EQ(lines.take(t0 + 20s), 1U);
  EXPECT_EQ(lines.take(t0 + 1h), 0U);
  EXPECT_EQ(lines.take(t0 + 1h), 0U);
  EXPECT_EQ(lines.take(t0 + 1h), 0U);
  EXPECT_EQ(lines.take(t0 + 1h), std::nullopt) << "what was not used does not add up";
}

} // namespace
} // namespace l3
