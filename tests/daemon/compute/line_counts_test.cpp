// SPDX-License-Identifier: Apache-2.0
#include "daemon/compute/line_counts.hpp"

#include <gtest/gtest.h>

namespace l3 {
namespace {

/// Of two lines: the first fired and was prescaled away, of the second only the reason is known.
event_summary rejected(std::uint8_t reason) {
  event_summary s;
  s.lines = 2;
  s.fired = 1;
  s.reason[0] = line_prescale;
  s.reason[1] = reason;
  return s;
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
