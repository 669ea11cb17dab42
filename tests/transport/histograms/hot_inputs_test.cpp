// SPDX-License-Identifier: Apache-2.0
#include "transport/histograms/comparison.hpp"

#include <cstddef>

#include <gtest/gtest.h>

namespace l3 {
namespace {

using heat = std::vector<input_heat>;
using enum input_heat;

/// Inputs of one counter, of which so many waveforms in a thousand have a pulse.
struct made_inputs {
  std::vector<channel_sums> channels;
  std::vector<std::optional<std::uint32_t>> counters;

  void add(std::uint64_t lit, std::optional<std::uint32_t> counter = 0,
           std::uint64_t waveforms = 1000) {
    channel_sums c;
    c.waveforms = waveforms;
    c.lit = lit;
    channels.push_back(c);
    counters.push_back(counter);
  }
  [[nodiscard]] heat judged(const hot_rule& rule = {}) const {
    return heat_of(channels, counters, rule);
  }
};

TEST(hot_inputs, have_pulses_in_more_than_half_of_their_waveforms) {
  made_inputs m;
  for (const std::uint64_t lit : {10U, 20U, 15U, 500U, 501U, 1000U}) m.add(lit);
  EXPECT_EQ(m.judged(), (heat{normal, normal, normal, normal, hot, hot}));
  EXPECT_EQ(m.judged({.above = 10}), (heat{normal, normal, normal, hot, hot, hot}));
  EXPECT_EQ(m.judged({.above = 100}), heat(6, normal)) << "none has more than all";
}

TEST(hot_inputs, stand_out_of_their_counter) {
  made_inputs m;
  for (const std::uint64_t lit : {120U, 110U, 115U, 575U, 576U}) m.add(lit);
  m.add(700, 1);
  m.add(5, 1);
  m.add(8, 1);
  EXPECT_EQ(m.judged(), (heat{normal, normal, normal, normal, normal, hot, normal, normal}))
      << "five times the median of the first counter is 600";
  m.counters.assign(m.counters.size(), 0);
  EXPECT_EQ(m.judged()[5], hot) << "the median of all is 115 then";
}

TEST(hot_inputs, are_none_where_a_whole_counter_is_busy) {
  made_inputs m;
  for (int i = 0; i < 10; ++i) m.add(900);
  m.add(1000);
  EXPECT_EQ(m.judged(), heat(11, normal));
}

TEST(hot_inputs, of_a_pair_are_compared_with_the_quiet_one) {
  made_inputs m;
  m.add(900);
  m.add(10);
  EXPECT_EQ(m.judged(), (heat{hot, normal}));
  made_inputs alone;
  alone.add(900);
  EXPECT_EQ(alone.judged(), heat{normal}) << "nothing says what is usual";
}

TEST(hot_inputs, are_told_from_a_hundred_waveforms_on) {
  made_inputs m;
  for (int i = 0; i < 5; ++i) m.add(0);
  m.add(99, 0, 99);
  m.add(100, 0, 100);
  m.add(0, 0, 0);
  EXPECT_EQ(m.judged(), (heat{normal, normal, normal, normal, normal, unknown, hot, unknown}));
}

TEST(hot_inputs, dead_ones_are_neither_hot_nor_what_is_usual) {
  made_inputs m;
  m.add(400);
  m.add(410);
  m.add(420);
  for (int i = 0; i < 20; ++i) m.add(0, std::nullopt);
  m.add(950);
  m.add(1000, std::nullopt);
  const heat found = m.judged();
  EXPECT_EQ(found[23], normal) << "the living ones of its counter are busy";
  EXPECT_EQ(found[5], unknown);
  EXPECT_EQ(found[24], unknown);
  EXPECT_TRUE(made_inputs().judged().empty());
}

} // namespace
} // namespace l3
