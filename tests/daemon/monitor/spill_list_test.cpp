// SPDX-License-Identifier: Apache-2.0
#include "daemon/monitor/spill_list.hpp"

#include <gtest/gtest.h>

namespace l3 {
namespace {

TEST(spill_list, fetches_each_end_once_and_lists_all) {
  spill_list spills;
  spills.note({7, 100, 2, 102});
  spills.note({8, 50, 0, std::nullopt});
  EXPECT_EQ(spills.fetch().size(), 2U);
  EXPECT_TRUE(spills.fetch().empty());
  const std::vector<spill_account> expected{{7, 100, 2, 102}, {8, 50, 0, std::nullopt}};
  EXPECT_EQ(spills.all(), expected);
}

TEST(spill_list, two_ends_that_say_the_same_are_one) {
  spill_list spills;
  spills.note({7, 100, 2, 102});
  spills.note({7, 100, 2, 102});
  EXPECT_EQ(spills.fetch().size(), 1U);
  EXPECT_EQ(spills.all().size(), 1U);
}

TEST(spill_list, more_of_a_spill_that_ended_lately_takes_the_place_of_what_was_said) {
  spill_list spills;
  spills.note({7, 100, 2, 102});
  spills.note({8, 50, 0, 50});
  (void)spills.fetch();
  spills.note({7, 101, 1, 102});
  EXPECT_EQ(spills.fetch().size(), 1U);
  const std::vector<spill_account> expected{{7, 101, 1, 102}, {8, 50, 0, 50}};
  EXPECT_EQ(spills.all(), expected);
}

TEST(spill_list, a_number_that_comes_again_much_later_is_another_spill) {
  spill_list spills;
  for (const std::uint32_t spill : {7U, 8U, 9U, 7U}) spills.note({spill, 10, 0, 10});
  (void)spills.fetch();
  EXPECT_EQ(spills.all().size(), 4U);
}

} // namespace
} // namespace l3
