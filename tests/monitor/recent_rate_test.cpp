// SPDX-License-Identifier: Apache-2.0
#include "monitor/recent_rate.hpp"

#include <gtest/gtest.h>

namespace l3 {
namespace {

using namespace std::chrono_literals;

TEST(recent_rate, is_that_of_the_window) {
  recent_rate rate(10s);
  const time_point start{};
  EXPECT_EQ(rate.per_second(), 0);
  rate.note(0, start);
  EXPECT_EQ(rate.per_second(), 0);
  rate.note(50, start + 5s);
  EXPECT_DOUBLE_EQ(rate.per_second(), 10);
  for (int s = 6; s <= 30; ++s) rate.note(50, start + std::chrono::seconds(s));
  EXPECT_EQ(rate.per_second(), 0) << "what was before the window counts no more";
}

TEST(recent_rate, begins_anew_when_the_count_falls) {
  recent_rate rate(10s);
  const time_point start{};
  rate.note(1000, start);
  rate.note(10, start + 1s);
  EXPECT_EQ(rate.per_second(), 0);
  rate.note(20, start + 2s);
  EXPECT_DOUBLE_EQ(rate.per_second(), 10);
}

} // namespace
} // namespace l3
