// SPDX-License-Identifier: Apache-2.0
// That the bench of sorting sorts what it counts, says by how much, and sees wrong output.
#include "bench/selection/sort_report.hpp"

#include <algorithm>

#include <gtest/gtest.h>

namespace l3::test {
namespace {

using namespace bench;

TEST(sort_bench, sorts_every_segment_by_itself) {
  const sort_work work(7, 100);
  ASSERT_EQ(work.keys.size(), 700U);
  EXPECT_NE(work.keys, work.sorted);
  for (auto first = work.sorted.begin(); first != work.sorted.end(); first += 100)
    EXPECT_TRUE(std::is_sorted(first, first + 100));
  EXPECT_FALSE(std::ranges::is_sorted(work.sorted));
  const sort_row row = sort_on_one_core(work, 3);
  EXPECT_TRUE(row.right());
  EXPECT_GT(row.ours.median, 0);
  EXPECT_GT(row.theirs.median, 0);
  EXPECT_DOUBLE_EQ(row.keys(), 700);
  EXPECT_THROW(sort_work(1, max_segment + 1), std::invalid_argument);
}

TEST(sort_bench, sees_wrong_output) {
  sort_work work(3, 32);
  std::swap(work.sorted[40], work.sorted[41]);
  const sort_row row = sort_on_one_core(work, 1);
  EXPECT_FALSE(row.ours.right);
  EXPECT_FALSE(row.theirs.right);
}

TEST(sort_bench, reports_rates_beside_the_library) {
  std::vector<sort_row> rows{
      {"one CPU core", 1000, 64, "std::sort", summary({0.002}), summary({0.001})},
      {"a device", 1000, 64, "CUB", summary({0.001}), summary({0.003})}};
  const boost::json::value json = sort_report(rows, "there is none");
  EXPECT_EQ(json.at("no_device").as_string(), "there is none");
  EXPECT_DOUBLE_EQ(json.at_pointer("/rows/0/of_library").as_double(), 0.5);
  EXPECT_DOUBLE_EQ(json.at_pointer("/rows/1/keys_per_second").as_double(), 64e6);
  EXPECT_DOUBLE_EQ(json.at_pointer("/rows/1/of_library").as_double(), 3);
  EXPECT_TRUE(json.at_pointer("/rows/1/right").as_bool());
  rows[1].theirs.right = false;
  EXPECT_FALSE(boost::json::value(sort_report(rows, "")).at_pointer("/rows/1/right").as_bool());
}

} // namespace
} // namespace l3::test
