// SPDX-License-Identifier: Apache-2.0
#include "daemon/monitor/hot_input_watch.hpp"

#include <map>
#include <string>

#include <gtest/gtest.h>

#include "daemon/words.hpp"
#include "selection/display/kept_events.hpp"

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

std::vector<std::byte> event(int n) { return {std::byte(n), std::byte(n + 1)}; }

/// The first bytes of the copies, the oldest first.
std::string copies_of(const kept_events& kept) {
  std::map<std::uint64_t, char> sorted;
  for (const auto& c : kept.latest())
    if (c.event) sorted[c.number] = static_cast<char>(c.event->front());
  std::string all;
  for (const auto& [number, first] : sorted) all += first;
  return all;
}

TEST(kept_events, are_one_of_each_line_every_two_seconds) {
  kept_events kept;
  EXPECT_EQ(copies_of(kept), "");
  kept.offer(event('a'), 1, time_point(10s));
  kept.offer(event('b'), 1, time_point(11s));
  EXPECT_EQ(copies_of(kept), "a") << "the second came too soon";
  kept.offer(event('c'), 3, time_point(11s));
  kept.offer(event('d'), 0, time_point(11s));
  kept.offer(event('e'), 0, time_point(11s));
  EXPECT_EQ(copies_of(kept), "acd") << "another line, and an event of no line";
  kept.offer(event('f'), 1, time_point(12s));
  EXPECT_EQ(copies_of(kept), "acdf");
}

TEST(kept_events, keep_the_latest_of_a_rare_line) {
  kept_events kept;
  kept.offer(event('a'), 2, time_point(1s));
  const auto held = kept.latest()[0].event;
  for (char n = 0; n < 25; ++n) kept.offer(event('b' + n), 1, time_point(n * 2s + 3s));
  EXPECT_EQ(copies_of(kept), "almnopqrstuvwxyz") << "16 places";
  kept.offer(event('A'), 2, time_point(60s));
  EXPECT_EQ(copies_of(kept), "lmnopqrstuvwxyzA");
  EXPECT_EQ(*held, event('a')) << "who has it keeps it";
}

} // namespace
} // namespace l3
