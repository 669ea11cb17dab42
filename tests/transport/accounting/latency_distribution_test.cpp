// SPDX-License-Identifier: Apache-2.0
#include "transport/accounting/latency_distribution.hpp"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace l3 {
namespace {

using namespace std::chrono_literals;

TEST(latency_distribution, is_empty_at_first) {
  const latency_distribution h;
  EXPECT_EQ(h.count(), 0U);
  EXPECT_EQ(h.quantile(0.5), 0ns);
}

RC_GTEST_PROP(latency_distribution, quantiles_are_right_to_two_percent, ()) {
  const auto times = *rc::gen::nonEmpty(rc::gen::container<std::vector<std::uint64_t>>(
      rc::gen::inRange<std::uint64_t>(1'100, 100'000'000'000)));
  latency_distribution h;
  std::uint64_t sum = 0;
  for (const auto t : times) {
    h.add(std::chrono::nanoseconds(t));
    sum += t;
  }
  RC_ASSERT(h.count() == times.size());
  RC_ASSERT(h.sum() == std::chrono::nanoseconds(sum));
  auto sorted = times;
  std::sort(sorted.begin(), sorted.end());
  for (const double q : {0.0, 0.5, 0.99, 1.0}) {
    const auto rank = static_cast<std::size_t>(std::clamp(
        q * static_cast<double>(times.size()) + 0.5, 1.0, static_cast<double>(times.size())));
    const auto exact = static_cast<double>(sorted[rank - 1]);
    const auto told = static_cast<double>(h.quantile(q).count());
    RC_ASSERT(told > exact * 0.98);
    RC_ASSERT(told < exact * 1.02);
  }
}

TEST(latency_distribution, takes_any_time) {
  latency_distribution h;
  h.add(-1s);
  EXPECT_EQ(h.sum(), 0s);
  h.add(0s);
  h.add(std::chrono::nanoseconds::max());
  EXPECT_EQ(h.count(), 3U);
  EXPECT_LT(h.quantile(0), 1'100ns);
  EXPECT_GT(h.quantile(1), 100s);
}

TEST(latency_distribution, counts_up_to_a_time) {
  latency_distribution h;
  h.add(5us);
  h.add(50ms, 3);
  EXPECT_EQ(h.count_up_to(1us), 0U);
  EXPECT_EQ(h.count_up_to(10us), 1U);
  EXPECT_EQ(h.count_up_to(100ms), 4U);
  EXPECT_EQ(h.count_up_to(std::chrono::nanoseconds::max()), 4U);
}

} // namespace
} // namespace l3
