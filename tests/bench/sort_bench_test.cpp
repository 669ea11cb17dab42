// SPDX-License-Identifier: Apache-2.0
// That the bench of sorting sorts what it counts, says by how much, and owns up to wrong output.
#include "bench/selection/sorting.hpp"

#include <algorithm>

#include <boost/json.hpp>
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
  EXPECT_DOUBLE_EQ(row.keys_per_second(0.5), 1400);
  EXPECT_THROW(sort_work(1, max_segment + 1), std::invalid_argument);
}

TEST(sort_bench, sees_wrong_output) {
  sort_work work(3, 32);
  std::swap(work.sorted[40], work.sorted[41]);
  const sort_row row = sort_on_one_core(work, 1);
  EXPECT_FALSE(row.ours.right);
  EXPECT_FALSE(row.theirs.right);
}

sort_report made_report() {
  sort_report r;
  r.processor = "a core";
  r.rows.push_back({"one CPU core", 1000, 64, "std::sort", {0.002, 0.001, 0.004}, {0.001, 0, 0}});
  r.rows.push_back({"a device", 1000, 64, "CUB", {0.001, 0.001, 0.001}, {0.003, 0, 0}});
  return r;
}

TEST(sort_bench, reports_rates_beside_the_library) {
  sort_report r = made_report();
  EXPECT_TRUE(r.all_right());
  const std::string table = to_table(r);
  EXPECT_NE(table.find("32.0 (     16.0 …      64.0)  0.500 of std::sort\n"), std::string::npos)
      << table;
  EXPECT_NE(table.find("3.000 of CUB\n"), std::string::npos) << table;
  EXPECT_EQ(table.find("not measured"), std::string::npos);
  const auto json = boost::json::parse(to_json(r));
  const auto& row = json.at("rows").at(1);
  EXPECT_DOUBLE_EQ(row.at("keys_per_second").as_double(), 64e6);
  EXPECT_DOUBLE_EQ(row.at("of_library").as_double(), 3);

  r.no_device = "there is none";
  EXPECT_NE(to_table(r).find("on a device: not measured, there is none"), std::string::npos);
  r.rows[1].theirs.right = false;
  EXPECT_FALSE(r.all_right());
  EXPECT_NE(to_table(r).find("of CUB  WRONG OUTPUT\n"), std::string::npos);
  EXPECT_FALSE(boost::json::parse(to_json(r)).at("rows").at(1).at("right").as_bool());
}

} // namespace
} // namespace l3::test
