// SPDX-License-Identifier: Apache-2.0
// A chunk that came before any datagram that names its spill may be a late one of the spill before:
// its event waits for the true one, but not for long, and is never stored with the wrong bytes.
#include <gtest/gtest.h>

#include "tests/transport/building/rig.hpp"

namespace l3::test {
namespace {

using namespace std::chrono_literals;
using datagrams = std::vector<wire_datagram>;

/// With chunks of 1400 bytes the last of a fragment's three names no spill.
constexpr std::ptrdiff_t last_chunk = 2;
constexpr std::ptrdiff_t trailer = 3;
constexpr auto doubt = 3ms;

class early_chunks : public testing::Test {
protected:
  early_chunks() {
    r.send(r.event({3, 1}) + r.event({3, 2}));
    r.pass(500ms);
    auto all = r.event({4, 1});
    own = all[last_chunk];
    end = all[trailer];
    others = datagrams(all.begin(), all.begin() + last_chunk) +
             datagrams(all.begin() + trailer + 1, all.end());
    stray = r.event({3, 1})[last_chunk];
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
  r.builder.enter(r.strip, r.now += 1us);
  r.land(datagrams{own}, 0, r.strip);
  r.now += 1us;
  const auto rest = others + datagrams{end};
  for (std::size_t at = 0; at < rest.size();) at += r.land(rest, at, r.strip);
  r.builder.end_round(r.strip, r.input, r.now += 1us);
  EXPECT_EQ(r.builder.open_events(), 1U) << "this round had begun before";
  r.builder.end_round(r.strip, r.input, r.now += 1us);
  r.builder.leave(r.strip, r.input, r.now);
  expect_admitted();
}

TEST_F(early_chunks, wait_for_a_thread_that_looked_at_its_ports_before_they_came) {
  landing_strip other(8, r.options.chunk_bytes);
  const auto looked_at = r.now += 1us;
  r.builder.enter(r.strip, r.now += 1us);
  const auto all = datagrams{own} + others + datagrams{end};
  for (std::size_t at = 0; at < all.size();) at += r.land(all, at, r.strip);
  r.builder.enter(other, looked_at);
  for (int round = 0; round < 3; ++round) r.builder.end_round(r.strip, r.input, r.now += 1us);
  r.builder.end_round(other, r.input, r.now += 1us);
  EXPECT_EQ(r.builder.open_events(), 1U) << "the other thread may not have read all of it";
  r.builder.end_round(other, r.input, r.now += 1us);
  r.builder.leave(r.strip, r.input, r.now);
  r.builder.leave(other, r.input, r.now);
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
