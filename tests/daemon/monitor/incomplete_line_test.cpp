// SPDX-License-Identifier: Apache-2.0
#include "daemon/monitor/incomplete_line.hpp"

#include <gtest/gtest.h>

namespace l3 {
namespace {

using namespace std::chrono_literals;

class incomplete : public testing::Test {
protected:
  std::optional<std::string> look(bool spill_ended) {
    now_ += 500ms;
    return line_.look(counted_, spill_ended, now_);
  }

  building_counters counted_;
  incomplete_line line_{readout::koto()};
  time_point now_{1s};
};

TEST_F(incomplete, events_are_told_with_the_crates_that_they_lack_once_a_spill) {
  counted_.events_incomplete.add(40);
  counted_.fragments_missing.add(11, 39);
  counted_.fragments_missing.add(3, 1);
  EXPECT_EQ(look(false), std::nullopt) << "the spill goes on";
  counted_.events_incomplete.add(20);
  counted_.fragments_missing.add(11, 19);
  counted_.fragments_missing.add(3, 1);
  EXPECT_EQ(look(true), "60 events incomplete: 58 lack crate 11, 2 crate 3");
  EXPECT_EQ(look(true), std::nullopt);
  counted_.events_incomplete.add(1);
  counted_.fragments_missing.add(3, 1);
  EXPECT_EQ(look(true), "1 events incomplete: 1 lack crate 3");
}

TEST_F(incomplete, events_of_a_spill_without_an_end_are_told_after_ten_seconds) {
  counted_.events_incomplete.add(1);
  counted_.fragments_missing.add(0, 1);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(look(false), std::nullopt) << i;
  EXPECT_NE(look(false), std::nullopt);
}

TEST_F(incomplete, a_spill_without_any_says_nothing) { EXPECT_EQ(look(true), std::nullopt); }

TEST_F(incomplete, events_that_lack_many_crates_name_the_worst) {
  counted_.events_incomplete.add(9);
  for (std::size_t c = 0; c < 9; ++c) counted_.fragments_missing.add(c, c + 1);
  EXPECT_EQ(look(true),
            "9 events incomplete: 9 lack crate 8, 8 crate 7, 7 crate 6, 6 crate 5 and 5 "
            "more crates");
}

TEST_F(incomplete, events_name_the_crate_whose_fragment_is_malformed) {
  counted_.events_incomplete.add(8);
  counted_.fragments_missing.add(3, 1);
  counted_.fragments_malformed.add(11, malformed::conflicting_chunks, 6);
  counted_.fragments_malformed.add(11, malformed::wrong_l1a, 1);
  EXPECT_EQ(look(true), "8 events incomplete: 1 lack crate 3; 7 have a malformed fragment of crate "
                        "11");
  counted_.events_incomplete.add(2);
  counted_.fragments_malformed.add(11, malformed::conflicting_chunks, 2);
  EXPECT_EQ(look(true), "2 events incomplete: 2 have a malformed fragment of crate 11");
}

TEST_F(incomplete, events_that_one_crate_made_up_are_told_apart) {
  counted_.events_incomplete.add(8);
  counted_.fragments_missing.add(11, 3);
  counted_.fragments_alone.add(11, 5);
  EXPECT_EQ(look(true),
            "8 events incomplete: 3 lack crate 11; 5 were sent by few crates, among them crate 11");
}

} // namespace
} // namespace l3
