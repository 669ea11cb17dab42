// SPDX-License-Identifier: Apache-2.0
#include "daemon/monitor/conflict_lines.hpp"

#include <gtest/gtest.h>

namespace l3 {
namespace {

using namespace std::chrono_literals;

readout two_crates() {
  readout r;
  for (const std::uint8_t number : {std::uint8_t{5}, std::uint8_t{9}}) {
    crate_readout crate;
    crate.number = number;
    r.crates.push_back(crate);
  }
  return r;
}

TEST(conflict_lines, name_the_event_and_the_crates) {
  conflict_lines told(two_crates(), 7);
  const time_point now{};
  EXPECT_TRUE(told.note({}, now).empty());
  const auto again = told.note({{{3, 17}, 0b10}}, now);
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].find("spill 3: event 17 came again with other bytes of crate 9, and"), 0U);
  const auto at_once = told.note({{{3, 17}, 0, true}}, now);
  ASSERT_EQ(at_once.size(), 1U);
  EXPECT_EQ(at_once[0].find("spill 3: event 17 came twice at once, with other bytes; it is"), 0U);
}

/// Short spills, each with a conflict, for ten seconds.
TEST(conflict_lines, are_few_however_many_spills_have_one) {
  conflict_lines told(two_crates(), 7);
  time_point now{};
  std::size_t lines = 0;
  std::string last;
  for (std::uint32_t look = 0; look < 20; ++look, now += 500ms) {
    std::vector<event_conflict> found;
    for (std::uint32_t spill = 0; spill < 100; ++spill) found.push_back({{spill, 1}});
    for (const std::string& line : told.note(found, now)) {
      ++lines;
      last = line;
    }
  }
  EXPECT_EQ(lines, 4U + 9U);
  EXPECT_NE(last.find("(199 such lines left out)"), std::string::npos) << last;
}

} // namespace
} // namespace l3
