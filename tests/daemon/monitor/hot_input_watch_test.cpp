// SPDX-License-Identifier: Apache-2.0
#include "daemon/monitor/hot_input_watch.hpp"

#include <gtest/gtest.h>

#include "daemon/monitor/first_names.hpp"

namespace l3 {
namespace {

using inputs = std::vector<std::uint32_t>;

/// Eight inputs of one counter, and a ninth that carries nothing.
class hot_inputs_watched : public testing::Test {
protected:
  static constexpr std::size_t all = 9;

  void spill(const inputs& with_pulses, std::uint64_t waveforms = 200) {
    ++number_;
    part(with_pulses, waveforms);
  }
  /// More of the same spill.
  void part(const inputs& with_pulses, std::uint64_t waveforms = 200) {
    histogram_sums sums(all);
    for (channel_sums& c : sums.channels) c.waveforms = waveforms;
    for (const std::uint32_t i : with_pulses) sums.channels[i].lit = waveforms;
    watch_.note(number_, sums);
  }

  std::uint32_t number_ = 0;
  hot_input_watch watch_{{0, 0, 0, 0, 0, 0, 0, 0, std::nullopt}, {}};
};

TEST_F(hot_inputs_watched, are_told_after_one_spill_and_masked_after_two) {
  EXPECT_EQ(watch_.hot_for(1), inputs{});
  spill({2, 5});
  EXPECT_EQ(watch_.hot_for(1), (inputs{2, 5}));
  EXPECT_EQ(watch_.hot_for(watch_.spills_until_masked), inputs{});
  spill({2});
  EXPECT_EQ(watch_.hot_for(1), inputs{2});
  EXPECT_EQ(watch_.hot_for(watch_.spills_until_masked), inputs{2});
  spill({5});
  EXPECT_EQ(watch_.hot_for(1), inputs{5});
  EXPECT_EQ(watch_.hot_for(watch_.spills_until_masked), inputs{}) << "not on end";
}

TEST_F(hot_inputs_watched, a_spill_of_few_events_changes_nothing) {
  spill({2});
  spill({5}, 99);
  spill({}, 0);
  EXPECT_EQ(watch_.hot_for(1), inputs{2});
  spill({2});
  EXPECT_EQ(watch_.hot_for(2), inputs{2});
}

TEST_F(hot_inputs_watched, parts_of_a_spill_are_one_spill) {
  spill({2});
  part({2});
  part({2, 5});
  EXPECT_EQ(watch_.hot_for(1), (inputs{2, 5}));
  EXPECT_EQ(watch_.hot_for(2), inputs{});
  spill({2}, 99);
  part({2});
  EXPECT_EQ(watch_.hot_for(2), inputs{2});
  part({5});
  EXPECT_EQ(watch_.hot_for(1), inputs{5}) << "a part may say that it is normal";
  EXPECT_EQ(watch_.hot_for(2), inputs{});
}

TEST_F(hot_inputs_watched, what_carries_nothing_is_never_hot) {
  spill({8});
  EXPECT_EQ(watch_.hot_for(1), inputs{});
}

TEST(names, of_a_long_list_are_the_first_ones) {
  const std::vector<std::string> three{"0/3/7", "0/3/8", "12/4/0"};
  EXPECT_EQ(first_names(three), "0/3/7, 0/3/8, 12/4/0");
  EXPECT_EQ(first_names(std::vector<std::string>(4000, "x")),
            "x, x, x, x, x, x, x, x and 3992 more");
  EXPECT_EQ(first_names({}), "");
}

} // namespace
} // namespace l3
