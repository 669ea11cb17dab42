// SPDX-License-Identifier: Apache-2.0
// Chunks without a board header do not name their spill: the other datagrams of their fragment do,
// before or after them. In any order no event is lost and every fragment is counted once.
#include <algorithm>
#include <gtest/gtest.h>
#include <random>
#include <rapidcheck/gtest.h>

#include "tests/transport/building/rig.hpp"

namespace l3::test {
namespace {

using namespace std::chrono_literals;
using datagrams = std::vector<wire_datagram>;

/// With chunks of 1400 bytes the last of a fragment's three names no spill.
constexpr std::ptrdiff_t unstated_chunk = 2;
constexpr std::ptrdiff_t trailer = 3;
/// How long an event is in doubt at most.
constexpr auto doubt = 3ms;
/// More than may wait at a time.
constexpr std::uint32_t too_many = 1100;

class unstated : public testing::Test {
protected:
  rig r;
};

TEST_F(unstated, a_sender_begins_anew_at_once) {
  r.send(r.events(511, 1, 6) + r.ends_of_spill(511, 6) + r.events(0, 1, 3));
  r.pass(500ms);
  r.send(r.events(511, 1, 6) + r.ends_of_spill(511, 6));
  r.pass(500ms);
  r.send(r.events(0, 1, 6) + r.ends_of_spill(0, 6));
  r.end(12);
  EXPECT_EQ(r.counters.events_incomplete, 0U);
  EXPECT_EQ(r.counters.fragments_duplicate, 9U * 3);
}

/// A trailer of a spill that no other datagram has named may itself be a stray.
TEST_F(unstated, a_lone_trailer_draws_no_chunk_of_another_spill) {
  r.send(r.event({3, 2}));
  auto all = r.event({3, 1});
  const datagrams first{all.front()};
  const datagrams own{all[unstated_chunk]};
  all.erase(all.begin() + unstated_chunk);
  all.erase(all.begin());
  r.send(all);
  r.send({r.event({4, 1})[trailer]});
  r.send(own + first);
  r.pass(doubt);
  EXPECT_EQ(r.counters.events_admitted, 2U);
  r.end(2);
}

TEST_F(unstated, chunks_of_a_refused_spill_are_refused_with_it) {
  r.send(r.events(100, 1, 2));
  r.send(r.event({50, 3}));
  EXPECT_EQ(r.input.refused[refused::wrong_spill], 12U);
  r.send(r.event({100, 3}));
  r.end(3);
  EXPECT_EQ(r.counters.fragments_seen, 9U);
}

TEST_F(unstated, a_chunk_whose_siblings_are_all_lost_waits_for_a_while) {
  r.send(datagrams{r.event({3, 1})[unstated_chunk]} + r.fragment({3, 1}, 1) +
         r.fragment({3, 1}, 2));
  r.pass(99ms);
  EXPECT_EQ(r.counters.fragments_seen, 2U);
  r.pass(1ms);
  EXPECT_EQ(r.counters.fragments_seen, 3U);
  EXPECT_EQ(r.counters.data_chunks, 7U);
  r.pass(1500ms);
  EXPECT_EQ(r.counters.fragments_incomplete, 3U);
  r.end();
}

TEST_F(unstated, a_chunk_whose_siblings_are_lost_completes_an_event_of_the_last_spill) {
  auto all = r.event({3, 1});
  const auto lone = all[unstated_chunk];
  all.erase(all.begin() + unstated_chunk);
  r.send(all + r.event({4, 2}));
  r.pass(500ms);
  r.send(lone);
  r.pass(100ms);
  r.pass(doubt);
  EXPECT_EQ(r.counters.events_admitted, 2U);
  r.end();
}

TEST_F(unstated, siblings_of_long_ago_say_nothing) {
  auto lost = r.event({3, 1});
  lost.erase(lost.begin() + unstated_chunk);
  r.send(lost);
  r.pass(100ms);
  auto next = r.event({4, 1});
  const auto early = next[unstated_chunk];
  next.erase(next.begin() + unstated_chunk);
  r.send(datagrams{early} + next);
  r.end();
  EXPECT_TRUE(r.pool.received.contains({4, 1}));
  EXPECT_EQ(r.counters.events_incomplete, 1U);
}

TEST_F(unstated, a_chunk_without_a_spill_is_late) {
  r.send(r.event({3, 1})[unstated_chunk]); // the first datagram ever
  r.pass(100ms);
  EXPECT_EQ(r.counters.late_chunks, 1U);
  r.send(r.event({3, 1}));
  r.end(1);
  EXPECT_EQ(r.counters.fragments_seen, 3U);
}

TEST_F(unstated, a_repeated_chunk_is_a_duplicate_when_no_sibling_follows) {
  const auto all = r.event({3, 1});
  r.send(all + datagrams{all[unstated_chunk]});
  EXPECT_EQ(r.counters.late_chunks, 0U) << "it may be the next spill's";
  r.pass(100ms);
  EXPECT_EQ(r.counters.late_chunks, 1U);
  EXPECT_EQ(r.counters.fragments_duplicate, 1U);
  r.end();
}

TEST(unstated_chunks, when_too_many_wait_the_oldest_go_where_they_most_likely_belong) {
  rig_options o;
  o.batch_events = 1200;
  rig r(o);
  r.send(r.event({3, 2000}));
  datagrams early;
  datagrams rest;
  for (std::uint32_t n = 1; n <= too_many; ++n) {
    auto all = r.event({3, n});
    early.push_back(all[unstated_chunk]);
    all.erase(all.begin() + unstated_chunk);
    rest = rest + all;
  }
  r.send(early);
  EXPECT_GT(r.counters.fragments_seen, 3U);
  EXPECT_LT(r.counters.fragments_seen, 3U + too_many);
  r.send(rest);
  r.pass(doubt);
  EXPECT_EQ(r.counters.events_admitted, 1U + too_many);
  r.end();
}

TEST_F(unstated, the_end_forgets_no_waiting_chunk) {
  const auto whole = r.event({3, 1});
  r.send(whole + datagrams{whole[unstated_chunk]} +                           // a duplicate
         datagrams{r.event({3, 2})[unstated_chunk]} +                         // siblings are lost
         r.fragment({3, 3}, 1) + datagrams{r.event({3, 3})[unstated_chunk]}); // the same
  r.end();
  EXPECT_EQ(r.counters.data_chunks, 9U + 1 + 1 + 3 + 1);
  EXPECT_EQ(r.counters.fragments_duplicate, 1U);
  EXPECT_EQ(r.counters.fragments_late, 1U);
  EXPECT_EQ(r.counters.fragments_incomplete, 2U);
}

// Datagrams change places across the border of two spills, as far as the ports of a receiver can be
// apart; nothing is lost.
RC_GTEST_PROP(unstated_storms, across_the_border_of_spills_lose_no_event, ()) {
  rig_options o;
  o.chunk_bytes = *rc::gen::element(544U, 1400U, 2072U);
  o.batch_events = *rc::gen::inRange(1U, 6U);
  o.batches = 24;
  o.parked = 40;
  o.ring = *rc::gen::inRange(1U, 20U);
  const auto window = *rc::gen::inRange<std::size_t>(1, 60);
  const std::uint32_t events = 12; // the same event of the next spill is further away than that
  constexpr std::size_t burst = 12;
  std::mt19937 random(*rc::gen::arbitrary<std::uint32_t>());
  rig r(o);
  datagrams all;
  for (const auto s : {511U, 0U, 1U}) all = all + r.whole_spill(s, events);
  const auto sent = std::ranges::count_if(all, [](const auto& d) { return !d.payload.empty(); });
  for (std::size_t at = random() % window; at < all.size(); at += window) {
    const auto from = all.begin() + static_cast<std::ptrdiff_t>(at);
    std::shuffle(from, all.begin() + static_cast<std::ptrdiff_t>(std::min(at + window, all.size())),
                 random);
  }
  for (std::size_t at = 0; at < all.size(); at += burst) {
    const auto from = all.begin() + static_cast<std::ptrdiff_t>(at);
    r.send({from, all.begin() + static_cast<std::ptrdiff_t>(std::min(at + burst, all.size()))});
    r.pass(10ms); // a spill lasts 100 ms at least
  }
  r.end();
  RC_LOG() << r.counted();
  RC_ASSERT(r.pool.received.size() == std::size_t{3} * events);
  RC_ASSERT(r.counters.data_chunks == static_cast<std::uint64_t>(sent));
  RC_ASSERT(r.counters.fragments_seen == 3U * events * o.crates.size());
}

// A chunk that came before any datagram that names its spill may be a late one of the spill before:
// its event waits for the true one, but not for long, and is never stored with the wrong bytes.

class early_chunks : public testing::Test {
protected:
  early_chunks() {
    r.send(r.event({3, 1}) + r.event({3, 2}));
    r.pass(500ms);
    auto all = r.event({4, 1});
    own = all[unstated_chunk];
    end = all[trailer];
    others = datagrams(all.begin(), all.begin() + unstated_chunk) +
             datagrams(all.begin() + trailer + 1, all.end());
    stray = r.event({3, 1})[unstated_chunk];
  }

  void expect_admitted() {
    EXPECT_EQ(r.builder.open_events(), 0U);
    r.drain();
    EXPECT_TRUE(r.pool.received.contains({4, 1}));
    EXPECT_EQ(r.counters.fragments_malformed.sum(), 0U);
    r.expect_balance();
    r.expect_bytes();
  }
  void expect_spoiled() {
    EXPECT_EQ(r.builder.open_events(), 0U);
    r.drain();
    EXPECT_FALSE(r.pool.received.contains({4, 1}));
    EXPECT_EQ(r.counters.fragments_malformed[malformed::conflicting_chunks], 1U);
    EXPECT_EQ(r.counters.fragments_incomplete, 2U);
    r.expect_balance();
    r.expect_bytes();
  }

  rig r;
  wire_datagram own;   // the chunk of event 1 of spill 4 that does not name its spill,
  wire_datagram end;   // the trailer of the same fragment,
  datagrams others;    // and all other datagrams of the event
  wire_datagram stray; // the same chunk of spill 3
};

TEST_F(early_chunks, are_admitted_a_little_later) {
  r.send(datagrams{own} + others + datagrams{end});
  EXPECT_EQ(r.builder.open_events(), 1U);
  r.pass(doubt - 1ns);
  EXPECT_EQ(r.builder.open_events(), 1U);
  r.pass(1ns);
  expect_admitted();
}

TEST_F(early_chunks, are_admitted_as_soon_as_all_ports_were_read_again) {
  r.builder.enter(r.ring, r.now += 1us);
  r.land(datagrams{own}, 0, r.ring);
  r.now += 1us;
  const auto rest = others + datagrams{end};
  for (std::size_t at = 0; at < rest.size();) at += r.land(rest, at, r.ring);
  r.builder.end_round(r.ring, r.now += 1us);
  EXPECT_EQ(r.builder.open_events(), 1U) << "this round had begun before";
  r.builder.end_round(r.ring, r.now += 1us);
  r.builder.leave(r.ring, r.now);
  expect_admitted();
}

TEST_F(early_chunks, wait_for_a_thread_that_looked_at_its_ports_before_they_came) {
  landing_ring other(r.builder, 8, r.input);
  const auto looked_at = r.now += 1us;
  r.builder.enter(r.ring, r.now += 1us);
  const auto all = datagrams{own} + others + datagrams{end};
  for (std::size_t at = 0; at < all.size();) at += r.land(all, at, r.ring);
  r.builder.enter(other, looked_at);
  for (int round = 0; round < 3; ++round) r.builder.end_round(r.ring, r.now += 1us);
  r.builder.end_round(other, r.now += 1us);
  EXPECT_EQ(r.builder.open_events(), 1U) << "the other thread may not have read all of it";
  r.builder.end_round(other, r.now += 1us);
  r.builder.leave(r.ring, r.now);
  r.builder.leave(other, r.now);
  expect_admitted();
}

TEST_F(early_chunks, of_another_spill_are_found_by_the_chunk_in_their_place) {
  r.send(datagrams{stray} + others);
  r.pass(50ms); // not without the trailer
  EXPECT_EQ(r.builder.open_events(), 1U);
  r.send(datagrams{own, end});
  r.pass(doubt);
  expect_spoiled();
}

TEST_F(early_chunks, of_another_spill_are_found_although_the_trailer_overtakes) {
  r.send(datagrams{stray} + others + datagrams{end});
  r.pass(doubt - 1ns);
  r.send(own);
  r.pass(doubt);
  expect_spoiled();
}

TEST_F(early_chunks, of_an_event_whose_trailer_is_lost_are_admitted_at_the_time_limit) {
  r.send(datagrams{own} + others);
  r.pass(1500ms);
  expect_admitted();
}

TEST_F(early_chunks, wait_in_the_parking_area_when_their_batch_closes) {
  r.send(r.event({4, 2}) + datagrams{own} + others + datagrams{end});
  r.pass(1ms);
  for (std::uint32_t n = 3; n <= 10; ++n) r.send(r.event({4, n})); // fills batches
  EXPECT_EQ(r.builder.open_events(), 1U);
  r.pass(doubt);
  EXPECT_EQ(r.counters.parked, 1U);
  expect_admitted();
}

} // namespace
} // namespace l3::test
