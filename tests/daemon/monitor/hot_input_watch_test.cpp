// SPDX-License-Identifier: Apache-2.0
#include "daemon/monitor/hot_input_watch.hpp"

#include <gtest/gtest.h>

#include "daemon/monitor/kept_events.hpp"
#include "daemon/words.hpp"

namespace l3 {
namespace {

using namespace std::chrono_literals;

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

TEST_F(hot_inputs_watched, are_those_of_the_latest_spill_of_many_events) {
  EXPECT_EQ(watch_.now_hot(), inputs{});
  spill({2, 5});
  EXPECT_EQ(watch_.now_hot(), (inputs{2, 5}));
  spill({5});
  EXPECT_EQ(watch_.now_hot(), inputs{5});
  spill({2}, 99); // of few events
  spill({}, 0);
  EXPECT_EQ(watch_.now_hot(), inputs{5});
  spill({8});
  EXPECT_EQ(watch_.now_hot(), inputs{}) << "what carries nothing is never hot";
}

TEST(names, of_a_long_list_are_the_first_ones) {
  const std::vector<std::string> three{"0/3/7", "0/3/8", "12/4/0"};
  EXPECT_EQ(first_names(three), "0/3/7, 0/3/8, 12/4/0");
  EXPECT_EQ(first_names(std::vector<std::string>(4000, "x")),
            "x, x, x, x, x, x, x, x and 3992 more");
  EXPECT_EQ(first_names({}), "");
}

std::vector<std::byte> event(unsigned n) { return {std::byte(n), std::byte(n + 1)}; }

TEST(kept_events, are_the_latest_two_of_those_that_come_two_seconds_apart) {
  kept_events kept;
  EXPECT_EQ(kept.latest()[0], nullptr);
  kept.offer(event(1), time_point(10s));
  kept.offer(event(2), time_point(11s));
  ASSERT_NE(kept.latest()[0], nullptr);
  EXPECT_EQ(*kept.latest()[0], event(1)) << "the second came too soon";
  EXPECT_EQ(kept.latest()[1], nullptr);
  const auto held = kept.latest()[0];
  for (unsigned n = 3; n < 6; ++n) kept.offer(event(n), time_point(n * 4s));
  EXPECT_EQ(*kept.latest()[0], event(5));
  EXPECT_EQ(*kept.latest()[1], event(4));
  EXPECT_EQ(*held, event(1)) << "who has it keeps it";
}

TEST(a_page_of_kept_events, is_made_once_for_each) {
  kept_events kept;
  int made = 0;
  page_of_kept page(kept, [&] { return std::to_string(++made); });
  EXPECT_EQ(*page.text(), "1");
  EXPECT_EQ(*page.text(), "1") << "there is still no event";
  const std::vector<std::byte> same(10);
  kept.offer(same, time_point{});
  EXPECT_EQ(*page.text(), "2");
  EXPECT_EQ(*page.text(), "2");
  kept.offer(same, time_point{} + kept_events::period);
  EXPECT_EQ(*page.text(), "3") << "another one with the same bytes";
}

} // namespace
} // namespace l3
