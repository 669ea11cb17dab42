// SPDX-License-Identifier: Apache-2.0
#include "daemon/monitor/spill_list.hpp"

#include <gtest/gtest.h>

namespace l3 {
namespace {

using namespace std::chrono_literals;
using lines = std::vector<std::string>;

spill_summary spill(std::uint32_t number, std::uint64_t admitted, std::uint64_t incomplete,
                    std::optional<std::uint64_t> expected) {
  spill_summary s;
  s.spill = number;
  s.admitted = admitted;
  s.incomplete = incomplete;
  s.expected = expected;
  return s;
}

spill_list::news ended(std::vector<spill_summary> all) {
  const std::size_t count = all.size();
  return {std::move(all), count};
}

TEST(spill_lines, say_at_once_what_is_not_whole) {
  spill_lines told;
  EXPECT_EQ(told.note(ended({spill(1, 10, 2, 12), spill(2, 10, 0, 11), spill(3, 10, 1, {})})),
            (lines{"spill 1: 10 events admitted, 2 incomplete, 12 sent",
                   "spill 2: 10 events admitted, 0 incomplete, 11 sent",
                   "spill 3: 10 events admitted, 1 incomplete, ? sent"}));
  EXPECT_FALSE(told.look(time_point(1s)));
  EXPECT_EQ(told.note({{spill(9, 1, 0, 1)}, 4}), lines{"and 3 earlier spills"});
}

TEST(spill_lines, are_one_a_minute_when_all_is_well) {
  spill_lines told;
  std::vector<std::string> all;
  for (std::uint32_t n = 1; n <= 25; ++n) {
    EXPECT_EQ(told.note(ended({spill(n, 100, 0, 100)})), lines());
    for (int half = 0; half < 2; ++half) // a spill every 5 s
      if (const auto line = told.look(time_point(5s * n + 500ms * half))) all.push_back(*line);
  }
  EXPECT_EQ(all, (lines{"spill 1: whole, 100 events", "spills 2 to 13: 12 whole ones, 1200 events",
                        "spills 14 to 25: 12 whole ones, 1200 events"}));
  EXPECT_FALSE(told.look(time_point(10min))) << "no spill has ended since";
}

} // namespace
} // namespace l3
