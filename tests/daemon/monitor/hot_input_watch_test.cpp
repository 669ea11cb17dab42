// SPDX-License-Identifier: Apache-2.0
#include "daemon/monitor/hot_input_watch.hpp"

#include <gtest/gtest.h>

#include "daemon/words.hpp"

namespace l3 {
namespace {

using inputs = std::vector<std::uint32_t>;

/// Eight inputs of one counter, and a ninth that carries nothing.
class hot_inputs_watched : public testing::Test {
protected:
  static constexpr std::size_t all = 9;

  void spill(const inputs& with_pulses, std::uint64_t waveforms = 200) {
    histogram_sums sums(all);
    for (channel_sums& c : sums.channels) c.waveforms = waveforms;
    for (const std::uint32_t i : with_pulses) sums.channels[i].lit = waveforms;
    watch_.note(sums);
  }

  hot_input_watch watch_{{0, 0, 0, 0, 0, 0, 0, 0, std::nullopt}, {}};
};

TEST_F(hot_inputs_watched, are_those_of_the_latest_spill) {
  EXPECT_EQ(watch_.now_hot(), inputs{});
  spill({2, 5});
  EXPECT_EQ(watch_.now_hot(), (inputs{2, 5}));
  spill({5});
  EXPECT_EQ(watch_.now_hot(), inputs{5});
}

TEST_F(hot_inputs_watched, stay_as_they_were_after_a_spill_of_few_events) {
  spill({2});
  spill({5}, 99);
  spill({}, 0);
  EXPECT_EQ(watch_.now_hot(), inputs{2});
}

TEST_F(hot_inputs_watched, what_carries_nothing_is_never_hot) {
  spill({8});
  EXPECT_EQ(watch_.now_hot(), inputs{});
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
