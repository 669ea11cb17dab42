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

TEST(spill_table, counts_the_events_of_which_nothing_came) {
  spill_table t(100, 3);
  t.begin(3, 1, {});
  for (const std::uint32_t n : {41U, 42U, 50U}) {
    t.open(n, 0);
    t.finish(n, {n != 50, n != 50, n != 50 ? 0U : 7U});
  }
  EXPECT_EQ(t.missing(), 0U) << "no crate has said how many it sent";
  t.end_of_spill(1, 0, 1, 60);
  EXPECT_EQ(t.missing(), 57U);
  t.is_first = true;
  EXPECT_EQ(t.missing(), 17U) << "the run may have begun with event 41";
  t.confirmed = t.closed = true;
  EXPECT_EQ(t.take_summary(), (spill_summary{3, 2, 1, 20, 1, 17}));
  t.end_of_stream({1, 1, 1000});
  EXPECT_EQ(t.missing(), 17U) << "over TCP none is missing";
  t.begin(4, 2, {});
  EXPECT_EQ(t.missing(), 0U);
}

class a_spill : public testing::Test {
protected:
  rig r;
};

TEST_F(a_spill, end_in_parts_and_with_repeats) {
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

TEST_F(a_spill, stale_numbers_in_an_end_of_spill_do_not_matter) {
  r.send(r.event({3, 1}));
  for (const auto& c : r.options.crates.crates) r.send(end_of_spill(3, c.number, 1, 900000, 5));
  r.pass(1ms);
  ASSERT_EQ(r.summaries.size(), 1U);
  EXPECT_EQ(r.summaries[0].expected, 1U);
}

TEST_F(a_spill, an_end_that_comes_two_spills_late_begins_no_other_one) {
  for (const std::uint32_t spill : {3U, 4U, 5U}) r.send(r.whole_spill(spill, 2));
  r.pass(1ms);
  r.send(end_of_spill(3, r.options.crates.crates[0].number, 2));
  r.pass(2s);
  r.send(r.whole_spill(6, 2));
  r.pass(1ms);
  EXPECT_EQ(r.summaries.size(), 4U) << r.counted();
  EXPECT_EQ(r.input.refused.sum(), 0U);
}

TEST_F(a_spill, is_over_when_its_end_is_marked_or_after_a_long_silence) {
  EXPECT_TRUE(r.builder.between_spills());
  r.send(r.event({3, 1}));
  r.pass(9s);
  EXPECT_FALSE(r.builder.between_spills()) << "its sender may only wait";
  r.send(r.event({3, 2}) + r.event({3, 3}));
  r.send(end_of_spill(3, r.options.crates.crates[1].number, 3));
  EXPECT_FALSE(r.builder.between_spills());
  r.pass(1s);
  EXPECT_TRUE(r.builder.between_spills())
      << "one crate's end is enough: no other event can be whole";
  r.send(r.event({4, 1}));
  r.pass(9999ms);
  EXPECT_FALSE(r.builder.between_spills());
  r.pass(1ms);
  EXPECT_TRUE(r.builder.between_spills());
  r.send(r.event({4, 2}));
  r.pass(1ms);
  EXPECT_FALSE(r.builder.between_spills());
}

TEST_F(a_spill, is_over_when_it_is_silent_where_the_last_one_had_no_end) {
  r.send(r.event({3, 1}));
  r.pass(5s);
  EXPECT_FALSE(r.builder.between_spills());
  r.send(r.event({4, 1}));
  r.pass(999ms);
  EXPECT_FALSE(r.builder.between_spills());
  r.pass(1ms);
  EXPECT_TRUE(r.builder.between_spills());
  r.send(r.event({4, 2}) + r.ends_of_spill(4, 2) + r.event({5, 1}));
  r.pass(5s);
  EXPECT_FALSE(r.builder.between_spills()) << "its ends are marked";
}

TEST_F(a_spill, the_summary_waits_for_events_in_progress) {
  const auto all = r.event({3, 2});
  r.send(r.event({3, 1}) + datagrams(all.begin(), all.begin() + 5) + r.ends_of_spill(3, 2));
  r.pass(1499ms);
  EXPECT_TRUE(r.summaries.empty());
  r.pass(1ms);
  ASSERT_EQ(r.summaries.size(), 1U);
  EXPECT_EQ(r.summaries[0], (spill_summary{3, 1, 1, 2}));
}

TEST_F(a_spill, a_late_chunk_of_the_last_spill_falls_into_no_event_of_this_one) {
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
  r.end(1);
}

TEST_F(a_spill, one_flipped_spill_number_does_not_end_the_spill) {
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

TEST_F(a_spill, a_repeated_datagram_confirms_nothing) {
  auto stray = r.fragment({35, 1}, 0)[0];
  r.send(r.event({3, 1}));
  r.send(stray);
  r.send(stray);
  r.send(r.event({3, 2}));
  r.drain();
  EXPECT_EQ(r.counters.spills, 1U);
  r.expect_balance();
}

TEST_F(a_spill, an_incomplete_event_of_the_last_spill_ends_before_the_table_is_used_again) {
  r.send(r.event({1, 1}) + r.fragment({1, 7}, 0));
  r.send(r.event({2, 1}) + r.event({3, 1}) + r.event({4, 1}));
  EXPECT_EQ(r.counters.events_incomplete, 1U);
  EXPECT_EQ(r.builder.open_events(), 0U);
  r.end(4);
}

// Time limits are judged when what the ports hold was read.

TEST(time_limits, wait_for_what_the_ports_hold) {
  rig r;
  const auto all = r.event({3, 1});
  const auto read = [&](const datagrams& these, bool emptied) {
    r.builder.enter(r.ring, r.now);
    for (std::size_t at = 0; at < these.size();) at += r.land(these, at, r.ring);
    r.builder.end_round(r.ring, r.now, emptied);
    r.builder.leave(r.ring, r.now);
  };
  landing_ring other(r.builder, 8, r.input);
  const auto other_is_empty = [&] {
    other.begin_round(r.now);
    other.end_round(r.now, true);
    r.builder.tick(r.now);
  };
  read(datagrams(all.begin(), all.begin() + 5) + r.fragment({3, 2}, 0), true);
  other_is_empty();
  r.pass(3s); // in which the machine stood still
  other_is_empty();
  EXPECT_EQ(r.builder.open_events(), 2U);
  read(r.fragment({3, 3}, 0), false);
  r.pass(1ms);
  EXPECT_EQ(r.builder.open_events(), 3U) << "the queue was longer than what is read in a round";
  read(datagrams(all.begin() + 5, all.end()), true);
  r.pass(1ms);
  EXPECT_EQ(r.counters.events_admitted, 1U);
  EXPECT_EQ(r.counters.events_incomplete, 1U) << "what was sent in time is read";
  r.pass(3s);
  read({}, true);
  r.pass(1ms);
  EXPECT_EQ(r.builder.open_events(), 1U) << "the other thread has not looked at its ports";
  other_is_empty();
  EXPECT_EQ(r.builder.open_events(), 0U);
}

// Spills that are sent again.

/// 9 of the 12 datagrams of an event name the spill, and 64 make an older one current.
constexpr std::uint32_t many_events = 30;

TEST_F(a_spill, sent_again_are_duplicates_however_old) {
  for (const auto round : {1U, 2U}) {
    for (const auto spill : {510U, 511U, 0U, 1U}) {
      r.send(r.whole_spill(spill, many_events));
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

TEST_F(a_spill, sent_again_with_other_bytes_is_told_from_a_repeat) {
  for (const auto spill : {3U, 4U, 5U, 6U}) {
    r.send(r.whole_spill(spill, many_events));
    r.pass(1s);
  }
  r.send(r.whole_spill(3, many_events));
  r.pass(1s);
  EXPECT_EQ(r.counters.fragments_conflicting, 0U);
  for (std::uint32_t n = 1; n <= many_events; ++n) {
    for (std::uint32_t place = 0; place < r.options.crates.size(); ++place) {
      std::vector<board_recipe> boards;
      for (std::uint32_t b = 0; b < r.options.crates.crates[place].boards; ++b)
        boards.push_back({3 + b, 777, std::nullopt, 0});
      r.send(datagrams_of(make_fragment({4, n}, boards), {4, n}, place, r.options.crates,
                          r.options.chunk_bytes));
    }
  }
  r.drain();
  EXPECT_EQ(r.counters.fragments_conflicting, many_events * 3);
  EXPECT_EQ(r.counters.events_admitted, 4U * many_events);
  r.expect_balance();
}

TEST_F(a_spill, sent_again_may_hold_what_was_lost) {
  for (const auto spill : {3U, 4U, 5U}) {
    for (std::uint32_t n = 1; n < many_events; ++n) r.send(r.event({spill, n}));
    r.pass(1s);
  }
  r.send(r.whole_spill(3, many_events));
  r.drain();
  EXPECT_EQ(r.counters.events_admitted, 3U * (many_events - 1) + 1);
  EXPECT_TRUE(r.pool.received.contains({3, many_events}));
  r.expect_balance();
}

TEST_F(a_spill, of_which_one_crate_is_two_spills_behind_is_reported_once) {
  for (std::uint32_t spill = 1; spill < 9; ++spill) {
    const auto send = [&](std::uint32_t named, std::uint32_t first, std::uint32_t last) {
      for (std::uint32_t n = 1; n <= many_events; ++n)
        for (std::uint32_t place = first; place <= last; ++place)
          r.send(r.fragment({named, n}, place));
      for (std::uint32_t place = first; place <= last; ++place)
        r.send(end_of_spill(named, r.options.crates.crates[place].number, many_events));
      r.pass(2s);
    };
    send(spill, spill < 3 ? 0 : 1, 2);
    if (spill > 2) send(spill - 2, 0, 0);
  }
  r.drain();
  EXPECT_EQ(r.counters.spills, 8U) << r.counted();
  EXPECT_EQ(r.summaries.size(), 8U);
  EXPECT_EQ(std::ranges::count(r.summaries, many_events, &spill_summary::incomplete), 6);
  r.expect_balance();
}

// A few datagrams that name a spill which is not due: all spills come out whole, before and after
// it, and that spill itself.

/// Two stray trailers, of different fragments.
datagrams strays(const rig& r, std::uint32_t spill) {
  return {r.fragment({spill, 7}, 0).back(), r.fragment({spill, 9}, 1).back()};
}

TEST(strays, between_two_spills_cost_nothing) {
  constexpr std::uint32_t events = 20;
  for (const std::uint32_t ahead : {2U, 3U, 200U, 255U}) {
    for (const auto& silence : {0ms, 100ms, 1000ms}) {
      rig r;
      r.send(r.whole_spill(3, events));
      r.pass(1ms);
      r.send(strays(r, 3 + ahead));
      r.pass(silence);
      for (const std::uint32_t spill : {4U, 5U, 6U}) {
        r.send(r.whole_spill(spill, events));
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

TEST(strays, in_a_spill_cost_nothing) {
  constexpr std::uint32_t events = 20;
  for (std::size_t at = 1; at < 40; ++at) {
    rig r;
    const auto all = r.whole_spill(4, events);
    const auto middle = all.begin() + static_cast<std::ptrdiff_t>(at);
    r.send(r.whole_spill(3, events) + datagrams(all.begin(), middle) + strays(r, 6));
    r.pass(2ms);
    r.send(datagrams(middle, all.end()));
    r.pass(3s);
    for (const std::uint32_t spill : {5U, 6U}) {
      r.send(r.whole_spill(spill, events));
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
