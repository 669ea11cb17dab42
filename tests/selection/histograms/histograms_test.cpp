// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "selection/histograms/in_sequence.hpp"
#include "selection/histograms/pion_pairs.hpp"
#include "tests/gpu/executors/cpu_executors.hpp"
#include "tests/selection/histograms/counting_cases.hpp"
#include "tests/selection/histograms/histogram_cases.hpp"

namespace l3::test {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(cpu, counting, cpu_executors);

TEST(histograms, are_those_of_the_textbook) {
  const small_selecting s;
  const auto events = make_selected_events(400, 11, 3);
  expect_textbook(s, events, 1);
  expect_textbook(s, events, 3);
}

TEST(histograms, are_alike_on_every_executor_and_in_every_batch) {
  const small_selecting s;
  const auto events = make_selected_events(300, 3, max_frame_spills);
  const auto expected = count_histograms(s, {backend::serial, 0}, events, 300, 1, 1, 2);
  ASSERT_EQ(expected.size(), max_frame_spills);
  for (const std::uint32_t batch : {1U, 7U, 64U, 200U}) {
    for (const std::uint32_t frames : {1U, 3U}) {
      EXPECT_EQ(count_histograms(s, {backend::serial, 0}, events, batch, frames, 2, 2), expected);
      EXPECT_EQ(count_histograms(s, {backend::pool, 3}, events, batch, frames, 3, 2), expected);
    }
  }
  auto other_way = events;
  std::ranges::reverse(other_way);
  EXPECT_EQ(count_histograms(s, {backend::serial, 0}, other_way, 64, 2, 4, 2), expected);
  EXPECT_EQ(count_histograms(s, shuffled_engine, events, 64, 2, 4, 2), expected);
  const std::vector<made_event> few(events.begin(), events.begin() + 12);
  EXPECT_EQ(count_histograms(s, threaded_engine, few, 5, 2, 5, 2),
            count_histograms(s, {backend::serial, 0}, few, 12, 1, 5, 2));
}

TEST(histograms, change_no_decision) {
  const small_selecting s;
  const auto events = make_selected_events(200, 5, 2);
  const auto expected = s.select({backend::serial, 0}, events, 50, 1, 1);
  selection_program program = s.loaded().program();
  program.histograms_one_in = 1;
  std::size_t at = 0;
  s.run({backend::serial, 0}, events, 50, 1, 1, program, [&](const frame& f) {
    for (const event_summary& summary : f.summaries) EXPECT_EQ(summary, expected[at++].summary);
  });
  EXPECT_EQ(at, events.size());
}

TEST(histograms, of_more_spills_than_a_frame_has_room_for_are_left_out) {
  const small_selecting s;
  auto events = make_selected_events(20, 6, 1);
  for (std::size_t k = 0; k < events.size(); ++k)
    events[k].spill = static_cast<std::uint32_t>(k % (max_frame_spills + 2));
  const auto found = count_histograms(s, {backend::serial, 0}, events, 20, 1, 1, 1);
  EXPECT_EQ(found.size(), max_frame_spills);
  for (const auto& [spill, counted] : found) {
    EXPECT_LT(spill, max_frame_spills);
    EXPECT_EQ(counted.counts[count_of_events], 2U);
  }
}

TEST(histograms, join_a_sequence_behind_what_they_read) {
  const std::vector<std::string> usual{"measure_pulses", "find_clusters", "compute_quantities",
                                       "match_ends",     "judge_vetoes",  "decide"};
  EXPECT_EQ(with_histograms(usual),
            (std::vector<std::string>{"measure_pulses", "histogram_channels", "find_clusters",
                                      "compute_quantities", "histogram_events", "match_ends",
                                      "histogram_vetoes", "judge_vetoes", "decide"}));
  const auto without = with_histograms(sequence_without_vetoes);
  EXPECT_EQ(std::ranges::count(without, "histogram_vetoes"), 0);
  EXPECT_EQ(std::ranges::count(without, "histogram_events"), 1);
}

TEST(histograms, without_vetoes_have_no_times_of_counters) {
  const small_selecting s;
  const auto events = make_selected_events(60, 7, 1);
  const auto with = count_histograms(s, {backend::serial, 0}, events, 20, 1, 1, 1).at(0);
  const auto without =
      count_histograms(s, {backend::serial, 0}, events, 20, 1, 1, 1, sequence_without_vetoes).at(0);
  EXPECT_EQ(with.channels, without.channels);
  for (std::uint32_t i = 0; i < event_counts; ++i)
    EXPECT_EQ(without.counts[i], i < first_veto_count(0) ? with.counts[i] : 0) << i;
}

TEST(histogram_axis, takes_one_event_in_so_many) {
  std::uint32_t taken = 0;
  for (std::uint32_t k = 1; k <= 10000; ++k) taken += is_sampled(5, 7, k, 10) ? 1 : 0;
  EXPECT_NEAR(taken, 1000, 100);
  EXPECT_TRUE(is_sampled(5, 7, 1, 1));
}

/// A pion's photons at two places, seen from so far away; the second one's energy follows from the
/// mass.
void add_pair(event_summary& e, double distance, std::int16_t x1, std::int16_t y1,
              std::int32_t energy, std::int16_t x2, std::int16_t y2) {
  const double l1 = std::sqrt(x1 * x1 + y1 * y1 + distance * distance);
  const double l2 = std::sqrt(x2 * x2 + y2 * y2 + distance * distance);
  const double cosine = (x1 * x2 + y1 * y2 + distance * distance) / (l1 * l2);
  const double other = neutral_pion_mass * neutral_pion_mass / (2.0 * energy * (1 - cosine));
  e.photon[e.photons++] = {energy, 0, x1, y1, 2, 0};
  e.photon[e.photons++] = {static_cast<std::int32_t>(std::llround(other)), 0, x2, y2, 2, 0};
}

TEST(pion_pairs, have_the_mass_of_the_pion_at_each_others_vertex) {
  event_summary e;
  add_pair(e, 30000, 3000, 1000, 600000, -1000, 2000);
  add_pair(e, 30000, -2500, -3000, 400000, 1500, -4000);
  for (const auto& order : {std::array{0, 1, 2, 3}, std::array{0, 2, 1, 3}, std::array{2, 0, 3, 1},
                            std::array{3, 0, 1, 2}}) {
    photon_summary mixed[4];
    for (std::size_t k = 0; k < 4; ++k) mixed[k] = e.photon[order[k]];
    const pion_masses found = find_pion_masses(mixed);
    ASSERT_TRUE(found.found);
    EXPECT_NEAR(found.mass[0], neutral_pion_mass, 2);
    EXPECT_NEAR(found.mass[1], neutral_pion_mass, 2);
  }
}

TEST(pion_pairs, show_a_pair_whose_energies_are_too_high) {
  event_summary e;
  add_pair(e, 30000, 3000, 1000, 600000, -1000, 2000);
  add_pair(e, 30000, -2500, -3000, 400000, 1500, -4000);
  for (std::uint32_t k = 2; k < 4; ++k) e.photon[k].energy += e.photon[k].energy / 20;
  const pion_masses found = find_pion_masses(e.photon);
  ASSERT_TRUE(found.found);
  EXPECT_LT(found.mass[0], neutral_pion_mass * 0.97) << "at a vertex that is too far away";
  EXPECT_NEAR(found.mass[1], neutral_pion_mass * 1.05, 100);
}

TEST(pion_pairs, are_none_where_no_pair_has_a_vertex) {
  photon_summary low[4];
  for (std::int16_t k = 0; k < 4; ++k)
    low[k] = {1000, 0, static_cast<std::int16_t>(1000 * k), 0, 2, 0};
  EXPECT_FALSE(find_pion_masses(low).found);
}

} // namespace
} // namespace l3::test
