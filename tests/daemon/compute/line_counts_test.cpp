// SPDX-License-Identifier: Apache-2.0
#include "daemon/compute/line_counts.hpp"

#include <gtest/gtest.h>

namespace l3 {
namespace {

constexpr auto out_of_photons =
    static_cast<std::uint8_t>(line_out_of_range + static_cast<unsigned>(quantity::photons));

/// Of two lines: the first fired and was prescaled away, of the second only the reason is known.
event_summary rejected(std::uint8_t reason) {
  event_summary s;
  s.lines = 2;
  s.fired = 1;
  s.reason[0] = line_prescale;
  s.reason[1] = reason;
  return s;
}

/// As koto-l3 select prints them: what one line refuses another may have kept.
TEST(line_counts, have_the_reasons_of_every_event) {
  line_counts counts;
  counts.add(rejected(line_veto));
  counts.add(rejected(out_of_photons));
  event_summary kept; // by the first
  kept.lines = 2;
  kept.kept = kept.fired = kept.kept_by = 1;
  kept.reason[1] = out_of_photons;
  counts.add(kept);
  EXPECT_EQ(counts.kept(0) + counts.refused(0, line_prescale), 3U);
  EXPECT_EQ(counts.refused(1, line_veto), 1U);
  EXPECT_EQ(counts.refused(1, out_of_photons), 2U);
  EXPECT_EQ(counts.kept(1), 0U);
  EXPECT_EQ(counts.fired(0), 3U);
  EXPECT_EQ(counts.fired(1), 0U);
}

TEST(line_counts, have_room_for_the_last_line_and_the_last_reason) {
  constexpr auto last = static_cast<std::uint8_t>(line_counts::reasons - 1);
  line_counts counts;
  event_summary s;
  s.lines = max_lines;
  s.fired = 1U << (max_lines - 1);
  for (auto& reason : s.reason) reason = last;
  counts.add(s);
  EXPECT_EQ(counts.fired(max_lines - 1), 1U);
  EXPECT_EQ(counts.fired(0), 0U);
  EXPECT_EQ(counts.refused(max_lines - 1, last), 1U);
}

TEST(line_counts, know_events_that_were_recorded_or_not_judged) {
  line_counts counts;
  event_summary s = rejected(line_veto);
  s.lines = 1;
  for (const std::uint8_t status :
       {0, +recorded, +more_photons, +too_many_clusters, +too_many_hits}) {
    s.status = status;
    counts.add(s);
  }
  EXPECT_EQ(counts.events_recorded(), 1U);
  EXPECT_EQ(counts.events_not_judged(), 2U) << "one with more photons is judged all the same";
  EXPECT_EQ(counts.kept(0), 0U);
  EXPECT_EQ(counts.refused(1, line_veto), 0U) << "there is no such line";
}

} // namespace
} // namespace l3
