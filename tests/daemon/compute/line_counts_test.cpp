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

TEST(line_counts, tell_what_fired_from_what_was_kept) {
  line_counts counts;
  event_summary kept = rejected(line_fired);
  kept.kept = 1;
  kept.fired = 3;
  kept.kept_by = 2;
  counts.add(kept);
  counts.add(rejected(line_veto));
  EXPECT_EQ(counts.fired(0), 2U);
  EXPECT_EQ(counts.kept(0), 0U);
  EXPECT_EQ(counts.fired(1), 1U);
  EXPECT_EQ(counts.kept(1), 1U);
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

TEST(line_counts, do_not_look_at_lines_that_there_are_not) {
  line_counts counts;
  event_summary s = rejected(line_veto);
  s.lines = 1;
  counts.add(s);
  EXPECT_EQ(counts.refused(1, line_veto), 0U);
}

TEST(line_counts, know_events_that_no_line_kept_and_that_were_recorded) {
  line_counts counts;
  event_summary s = rejected(line_veto);
  counts.add(s);
  EXPECT_EQ(counts.events_recorded(), 0U);
  s.status = recorded;
  counts.add(s);
  EXPECT_EQ(counts.events_recorded(), 1U);
  EXPECT_EQ(counts.kept(0), 0U);
}

TEST(line_counts, know_events_that_were_not_judged) {
  line_counts counts;
  event_summary s;
  counts.add(s);
  s.status = more_photons; // judged all the same
  counts.add(s);
  EXPECT_EQ(counts.events_not_judged(), 0U);
  for (const std::uint8_t status : {too_many_clusters, too_many_hits}) {
    s.status = status;
    counts.add(s);
  }
  EXPECT_EQ(counts.events_not_judged(), 2U);
}

} // namespace
} // namespace l3
