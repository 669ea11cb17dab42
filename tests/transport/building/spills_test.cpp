// SPDX-License-Identifier: Apache-2.0
// Spills: they begin and end, wrap, overlap and get lost, and no chunk ever falls into another
// spill's event.
#include <algorithm>
#include <gtest/gtest.h>

#include "tests/transport/building/rig.hpp"

namespace l3::test {
namespace {

using namespace std::chrono_literals;
using datagrams = std::vector<wire_datagram>;

TEST(spill_distance, crosses_the_wrap) {
  EXPECT_EQ(spill_distance(511, 0), 1);
  EXPECT_EQ(spill_distance(0, 511), -1);
  EXPECT_EQ(spill_distance(5, 5), 0);
  EXPECT_EQ(spill_distance(0, 255), 255);
  EXPECT_EQ(spill_distance(0, 256), -256);
}

TEST(spills, the_same_event_numbers_come_again_in_the_next_spill) {
  rig r;
  r.send(r.event({511, 1}) + r.event({511, 2}) + r.ends_of_spill(511, 2));
  r.pass(1ms);
  ASSERT_EQ(r.summaries.size(), 1U) << "all said how much they sent, and so much came";
  EXPECT_EQ(r.summaries[0], (spill_summary{511, 2, 0, 2}));
  r.send(r.event({0, 1}) + r.event({0, 2}) + r.event({0, 3}));
  r.drain();
  EXPECT_EQ(r.pool.received.size(), 5U);
  EXPECT_EQ(r.counters.spills, 2U);
  ASSERT_EQ(r.summaries.size(), 2U);
  EXPECT_EQ(r.summaries[1], (spill_summary{0, 3, 0, std::nullopt}));
  r.expect_balance();
  r.expect_bytes();
}

TEST(spills, end_in_parts_and_with_repeats) {
  rig r;
  r.send(r.event({3, 1}));
  for (const auto& c : r.options.crates.crates) {
    r.send(end_of_spill(3, c.number, 10, 1, 2));
    r.send(end_of_spill(3, c.number, 10, 1, 2)); // the same part again
    r.pass(1ms);
    EXPECT_TRUE(r.summaries.empty());
    r.send(end_of_spill(3, c.number, 32767, 0, 2));
  }
  r.pass(1ms);
  EXPECT_TRUE(r.summaries.empty()) << "events are missing: they may still come";
  r.pass(1s);
  ASSERT_EQ(r.summaries.size(), 1U);
  EXPECT_EQ(r.summaries[0], (spill_summary{3, 1, 0, 32777}));
  EXPECT_EQ(r.counters.ends_of_spill, 9U);
}

TEST(spills, stale_numbers_in_an_end_of_spill_do_not_matter) {
  rig r;
  r.send(r.event({3, 1}));
  for (const auto& c : r.options.crates.crates) r.send(end_of_spill(3, c.number, 1, 900000, 5));
  r.pass(1ms);
  ASSERT_EQ(r.summaries.size(), 1U);
  EXPECT_EQ(r.summaries[0].expected, 1U);
}

TEST(spills, silence_ends_a_spill_whose_end_was_lost) {
  rig r;
  r.send(r.event({3, 1}));
  r.pass(999ms);
  EXPECT_TRUE(r.summaries.empty());
  r.pass(1ms);
  ASSERT_EQ(r.summaries.size(), 1U);
  EXPECT_EQ(r.summaries[0], (spill_summary{3, 1, 0, std::nullopt}));
}

TEST(spills, the_summary_waits_for_events_in_progress) {
  rig r;
  const auto all = r.event({3, 2});
  r.send(r.event({3, 1}) + datagrams(all.begin(), all.begin() + 5) + r.ends_of_spill(3, 2));
  r.pass(1499ms);
  EXPECT_TRUE(r.summaries.empty());
  r.pass(1ms);
  ASSERT_EQ(r.summaries.size(), 1U);
  EXPECT_EQ(r.summaries[0], (spill_summary{3, 1, 1, 2}));
}

TEST(spills, a_spill_may_begin_before_the_previous_is_read_to_its_end) {
  rig r;
  for (std::uint32_t n = 1; n <= 99; ++n) r.send(r.event({3, n}));
  auto all = r.event({3, 100});
  const auto last_chunk = all[2];
  all.erase(all.begin() + 2);
  r.send(all);
  r.send(r.event({4, 1}) + r.event({4, 2}));
  r.send(last_chunk); // far beyond the events of spill 4
  r.drain();
  EXPECT_EQ(r.pool.received.size(), 102U);
  r.expect_balance();
  r.expect_bytes();
}

TEST(spills, a_late_chunk_of_the_last_spill_falls_into_no_event_of_this_one) {
  rig r;
  const auto lost = r.event({3, 1});
  r.send(datagrams(lost.begin(), lost.begin() + 2) + datagrams(lost.begin() + 3, lost.end()));
  r.pass(3s);
  r.send(r.event({4, 1}));
  r.send(lost[2]); // event 1 of spill 4 is complete
  r.pass(100ms);
  EXPECT_EQ(r.counters.late_chunks, 1U);
  r.send(lost[2]);
  r.send(lost[0]); // names spill 3
  EXPECT_EQ(r.counters.late_chunks, 3U);
  r.drain();
  EXPECT_EQ(r.pool.received.size(), 1U);
  r.expect_balance();
  r.expect_bytes();
}

TEST(spills, a_stray_chunk_never_completes_an_event_of_another_spill) {
  rig r;
  const auto old = r.event({3, 1});
  const auto now = r.event({4, 1});
  r.send(r.event({3, 2}));
  r.pass(3s);
  r.send(old[2]);
  r.send(now);
  r.drain();
  EXPECT_FALSE(r.pool.received.contains({4, 1}))
      << "two different chunks for one place: neither is believed";
  EXPECT_EQ(r.counters.fragments_malformed[malformed::conflicting_chunks], 1U);
  r.expect_balance();
}

TEST(spills, one_flipped_spill_number_does_not_end_the_spill) {
  rig r;
  auto all = r.event({3, 1});
  auto flipped = r.event({3, 2});
  flipped[3].discriminator ^= 1U << 8 << 5; // a trailer: spill 35
  r.send(all + flipped);
  r.send(r.event({3, 3}));
  r.drain();
  EXPECT_EQ(r.pool.received.size(), 3U) << "the trailer was not needed";
  EXPECT_EQ(r.counters.spills, 1U);
  r.expect_balance();
  r.expect_bytes();
}

TEST(spills, two_datagrams_that_agree_do) {
  rig r;
  r.send(r.event({3, 1}) + r.event({9, 1}));
  r.drain();
  EXPECT_EQ(r.pool.received.size(), 2U);
  EXPECT_EQ(r.counters.spills, 2U);
}

TEST(spills, a_repeated_datagram_confirms_nothing) {
  rig r;
  auto stray = r.fragment({35, 1}, 0)[0];
  r.send(r.event({3, 1}));
  r.send(stray);
  r.send(stray);
  r.send(r.event({3, 2}));
  r.drain();
  EXPECT_EQ(r.counters.spills, 1U);
  r.expect_balance();
}

TEST(spills, older_ones_are_refused_while_a_spill_lasts) {
  rig r;
  r.send(r.event({100, 1}));
  r.send(r.fragment({50, 1}, 0)[0]);
  EXPECT_EQ(r.input.refused[refused::wrong_spill], 1U);
  r.send(r.event({100, 2}));
  r.drain();
  EXPECT_EQ(r.pool.received.size(), 2U);
  r.expect_balance();
}

TEST(spills, a_sender_that_begins_anew_is_taken_after_silence) {
  rig r;
  r.send(r.event({100, 1}));
  r.pass(1s);
  r.send(r.event({1, 1}) + r.event({1, 2}));
  r.drain();
  EXPECT_EQ(r.pool.received.size(), 3U);
  r.expect_balance();
}

TEST(spills, all_numbers_come_around) {
  rig_options o;
  o.max_events = 50;
  rig r(o);
  for (std::uint32_t s = 300; s < 300 + 1100; ++s) {
    r.send(r.event({s % 512, 1}));
    r.pool.received.clear();
  }
  r.builder.tick(r.now);
  EXPECT_EQ(r.counters.events_admitted, 1100U);
  EXPECT_EQ(r.counters.spills, 1100U);
}

TEST(spills, an_incomplete_event_of_the_last_spill_ends_before_the_table_is_used_again) {
  rig r;
  r.send(r.event({1, 1}) + r.fragment({1, 7}, 0));
  r.send(r.event({2, 1}) + r.event({3, 1}) + r.event({4, 1}));
  EXPECT_EQ(r.counters.events_incomplete, 1U);
  EXPECT_EQ(r.builder.open_events(), 0U);
  r.drain();
  EXPECT_EQ(r.pool.received.size(), 4U);
  r.expect_balance();
}

// Spills that are sent again.

/// 9 of the 12 datagrams of an event name the spill, and 64 make an older one current.
constexpr std::uint32_t many_events = 30;

datagrams spill_of(const rig& r, std::uint32_t spill) {
  datagrams all;
  for (std::uint32_t n = 1; n <= many_events; ++n) all = all + r.event({spill, n});
  return all + r.ends_of_spill(spill, many_events);
}

TEST(spills, sent_again_are_duplicates_however_old) {
  rig r;
  for (const auto round : {1U, 2U}) {
    for (const auto spill : {510U, 511U, 0U, 1U}) {
      r.send(spill_of(r, spill));
      r.pass(1s);
    }
    EXPECT_EQ(r.counters.events_admitted, 4U * many_events);
    EXPECT_EQ(r.counters.fragments_duplicate, (round - 1) * 4 * many_events * 3);
  }
  EXPECT_EQ(r.summaries.at(3), (spill_summary{1, many_events, 0, many_events}));
  EXPECT_EQ(r.summaries.back(), (spill_summary{1, 0, 0, many_events}));
  r.drain();
  EXPECT_EQ(r.pool.twice, 0U);
  EXPECT_EQ(r.counters.fragments_late, 0U);
  r.expect_balance();
  r.expect_bytes();
}

TEST(spills, sent_again_may_hold_what_was_lost) {
  rig r;
  for (const auto spill : {3U, 4U, 5U}) {
    for (std::uint32_t n = 1; n < many_events; ++n) r.send(r.event({spill, n}));
    r.pass(1s);
  }
  r.send(spill_of(r, 3));
  r.drain();
  EXPECT_EQ(r.counters.events_admitted, 3U * (many_events - 1) + 1);
  EXPECT_TRUE(r.pool.received.contains({3, many_events}));
  r.expect_balance();
}

// A few datagrams that name a spill which is not due: all spills come out whole, before and after
// it, and that spill itself.

/// Two stray trailers, of different fragments.
datagrams strays(const rig& r, std::uint32_t spill) {
  return {r.fragment({spill, 7}, 0).back(), r.fragment({spill, 9}, 1).back()};
}

datagrams whole_spill(const rig& r, std::uint32_t spill, std::uint32_t events) {
  datagrams all;
  for (std::uint32_t n = 1; n <= events; ++n) all = all + r.event({spill, n});
  return all + r.ends_of_spill(spill, events);
}

TEST(strays, between_two_spills_cost_nothing) {
  constexpr std::uint32_t events = 20;
  for (const std::uint32_t ahead : {2U, 3U, 200U, 255U}) {
    for (const auto& silence : {0ms, 100ms, 1000ms}) {
      rig r;
      r.send(whole_spill(r, 3, events));
      r.pass(1ms);
      r.send(strays(r, 3 + ahead));
      r.pass(silence);
      for (const std::uint32_t spill : {4U, 5U, 6U}) {
        r.send(whole_spill(r, spill, events));
        r.pass(3s);
      }
      r.drain();
      EXPECT_EQ(r.input.refused[refused::wrong_spill], 0U);
      EXPECT_EQ(r.pool.received.size(), 4U * events) << ahead << ": " << r.counted();
      r.expect_balance();
      r.expect_bytes();
    }
  }
}

/// Last chunks do not name their spill, and a receiver may read one before its siblings.
TEST(strays, do_not_draw_chunks_that_come_before_their_siblings) {
  constexpr std::uint32_t events = 20;
  for (const std::uint32_t strays_of : {5U, 200U}) {
    rig r;
    r.send(whole_spill(r, 3, events));
    r.pass(1ms);
    r.send(strays(r, strays_of));
    r.pass(1ms);
    for (std::uint32_t n = 1; n <= events; ++n) {
      datagrams event = r.event({4, n});
      std::ranges::stable_partition(event, [&](const wire_datagram& d) {
        return !d.payload.empty() && d.payload.size() < r.settings.chunk_bytes;
      });
      r.send(event);
    }
    r.send(r.ends_of_spill(4, events));
    r.pass(3s);
    r.send(whole_spill(r, 5, events));
    r.drain();
    EXPECT_EQ(r.pool.received.size(), 3U * events) << strays_of << ": " << r.counted();
    r.expect_balance();
    r.expect_bytes();
  }
}

TEST(strays, in_a_spill_cost_nothing) {
  constexpr std::uint32_t events = 20;
  for (std::size_t at = 1; at < 40; ++at) {
    rig r;
    const auto all = whole_spill(r, 4, events);
    const auto middle = all.begin() + static_cast<std::ptrdiff_t>(at);
    r.send(whole_spill(r, 3, events) + datagrams(all.begin(), middle) + strays(r, 6));
    r.pass(2ms);
    r.send(datagrams(middle, all.end()));
    r.pass(3s);
    for (const std::uint32_t spill : {5U, 6U}) {
      r.send(whole_spill(r, spill, events));
      r.pass(3s);
    }
    r.drain();
    EXPECT_EQ(r.pool.received.size(), 4U * events) << at << ": " << r.counted();
    EXPECT_EQ(std::ranges::count(r.summaries, spill_summary{4, events, 0, events}), 1);
    r.expect_balance();
    r.expect_bytes();
  }
}

} // namespace
} // namespace l3::test
