// SPDX-License-Identifier: Apache-2.0
#include "daemon/compute/histogram_book.hpp"

#include <map>
#include <vector>

#include <gtest/gtest.h>

namespace l3 {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t inputs = 3;

/// Sums that say how many events they are of.
struct made_part {
  explicit made_part(std::uint64_t events) : channels(inputs), counts(event_counts) {
    for (std::size_t i = 0; i < inputs; ++i) channels[i].pedestal = events * (i + 1);
    counts[count_of_events] = static_cast<std::uint32_t>(events);
  }
  std::vector<channel_sums> channels;
  std::vector<std::uint32_t> counts;
};

struct book_rig {
  histogram_book book{
      inputs, [this](std::uint32_t spill, const histogram_sums& sums, std::uint64_t left_out) {
        left_out_told += left_out;
        EXPECT_EQ(sums.channels[2].pedestal, 3 * sums.events());
        ended[spill].push_back(sums.events());
      }};
  std::map<std::uint32_t, std::vector<std::uint64_t>> ended;
  std::uint64_t left_out_told = 0;
  time_point now = time_point() + 1h;

  void add(const std::vector<std::pair<std::uint32_t, std::uint64_t>>& spills,
           std::uint32_t left_out = 0) {
    std::vector<made_part> parts;
    for (const auto& [spill, events] : spills) parts.emplace_back(events);
    std::vector<frame_histograms> shown;
    frame f;
    for (std::size_t k = 0; k < spills.size(); ++k) {
      shown.push_back({spills[k].first, parts[k].channels, parts[k].counts});
      f.input.used_events += parts[k].counts[count_of_events];
    }
    f.input.used_events += left_out;
    f.histograms = shown;
    book.add(f, now);
  }
};

TEST(histogram_book, adds_frames_up_by_spill_and_over_the_run) {
  book_rig r;
  r.add({{1, 10}});
  r.add({{1, 5}, {2, 3}});
  r.now += 1500ms;
  r.add({{2, 4}});
  r.book.look(r.now);
  EXPECT_TRUE(r.ended.empty());
  r.now += 1s; // of spill 1 nothing has come for 2.5 s
  r.book.look(r.now);
  EXPECT_EQ(r.ended, (decltype(r.ended){{1, {15}}}));
  const auto shown = r.book.latest();
  EXPECT_EQ(shown.run.events(), 22U);
  EXPECT_EQ(shown.run.channels[1].pedestal, 44U);
  EXPECT_EQ(shown.spill, 1U);
  EXPECT_EQ(shown.of_spill.events(), 15U);
  r.book.end_all();
  EXPECT_EQ(r.ended, (decltype(r.ended){{1, {15}}, {2, {7}}}));
  EXPECT_EQ(r.book.latest().spill, 2U);
  EXPECT_EQ(r.book.latest().of_spill.events(), 7U);
}

TEST(histogram_book, makes_room_for_later_spills_and_adds_what_is_late_as_another_part) {
  book_rig r;
  for (std::uint32_t spill = 1; spill <= 5; ++spill) {
    r.now += 1ms;
    r.add({{spill, spill}});
  }
  EXPECT_EQ(r.ended, (decltype(r.ended){{1, {1}}, {2, {2}}}));
  r.now += 1ms;
  r.add({{1, 7}}); // the third spill gives way
  EXPECT_EQ(r.ended, (decltype(r.ended){{1, {1}}, {2, {2}}, {3, {3}}}));
  r.book.end_all();
  EXPECT_EQ(r.ended, (decltype(r.ended){{1, {1, 7}}, {2, {2}}, {3, {3}}, {4, {4}}, {5, {5}}}));
  EXPECT_EQ(r.book.latest().run.events(), 22U);
}

TEST(histogram_book, counts_events_that_a_frame_left_out) {
  book_rig r;
  r.add({{1, 10}}, 4);
  r.add({{1, 1}});
  r.book.end_all();
  EXPECT_EQ(r.book.latest().left_out, 4U);
  EXPECT_EQ(r.book.latest().run.events(), 11U);
}

TEST(histogram_book, renews_what_it_shows_once_a_second) {
  book_rig r;
  r.add({{1, 1}});
  r.book.look(r.now);
  const auto first = r.book.edition();
  r.add({{1, 1}});
  r.book.look(r.now + 900ms);
  EXPECT_EQ(r.book.edition(), first);
  EXPECT_EQ(r.book.latest().run.events(), 1U);
  r.book.look(r.now + 1s);
  EXPECT_NE(r.book.edition(), first);
  EXPECT_EQ(r.book.latest().run.events(), 2U);
  r.book.look(r.now + 10s); // ends the spill
  const auto last = r.book.edition();
  r.book.look(r.now + 20s);
  EXPECT_EQ(r.book.edition(), last) << "nothing is new";
}

TEST(histogram_book, without_inputs_counts_nothing) {
  histogram_book none(0);
  const made_part part(3);
  const std::vector<frame_histograms> shown{{1, part.channels, part.counts}};
  frame f;
  f.histograms = shown;
  none.add(f, time_point() + 1h);
  none.look(time_point() + 2h);
  none.end_all();
  EXPECT_EQ(none.edition(), 0U);
  EXPECT_EQ(histogram_book::memory_plan(0), 0U);
  EXPECT_TRUE(none.latest().run.channels.empty());
}

} // namespace
} // namespace l3
