// SPDX-License-Identifier: Apache-2.0
// Every way in which an event can fail to arrive in order and whole: each is counted under its
// name, and both conservation sums hold after it.
#include <gtest/gtest.h>

#include "tests/transport/building/records.hpp"
#include "tests/transport/building/rig.hpp"
#include "transport/format/block.hpp"

namespace l3::test {
namespace {

using namespace std::chrono_literals;
using datagrams = std::vector<wire_datagram>;

datagrams without(datagrams all, std::size_t i) {
  all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
  return all;
}

class a_fault : public testing::Test {
protected:
  rig r;
};

TEST_F(a_fault, duplicates_are_counted_once_a_fragment) {
  const auto f = r.fragment({1, 1}, 0);
  r.send(f + f); // while the event is open: 3 chunks and a trailer more
  r.send(r.fragment({1, 1}, 1) + r.fragment({1, 1}, 2));
  EXPECT_EQ(r.counters.duplicate_chunks, f.size() - 1);
  EXPECT_EQ(r.counters.fragments_duplicate, 1U);
  r.send(r.fragment({1, 1}, 0) + r.fragment({1, 1}, 2)); // after its end
  EXPECT_EQ(r.counters.fragments_duplicate, 2U);
  EXPECT_EQ(r.counters.late_chunks, 2 * (f.size() - 1));
  r.send(r.event({1, 2}));
  r.end(2);
  EXPECT_EQ(r.counters.fragments_seen, 8U);
}

TEST_F(a_fault, a_lost_chunk_makes_the_event_incomplete_at_the_time_limit) {
  r.send(without(r.event({1, 1}), 1));
  r.send(r.event({1, 2}));
  r.pass(1499ms);
  EXPECT_EQ(r.counters.events_incomplete, 0U);
  r.pass(1ms);
  EXPECT_EQ(r.counters.events_incomplete, 1U);
  EXPECT_EQ(r.counters.fragments_incomplete, 3U);
  r.end(1);
}

TEST(faults, a_lost_trailer_is_needed_when_the_last_chunk_is_full) {
  rig_options o;
  o.chunk_bytes = 4152; // the fragment in one chunk
  rig r(o);
  const auto all = r.event({1, 1});
  r.send(without(all, 1));
  EXPECT_EQ(r.counters.events_admitted, 0U);
  r.send(all[1]);
  EXPECT_EQ(r.counters.events_admitted, 1U);
  r.end();
}

TEST_F(a_fault, late_chunks_of_an_event_that_was_given_up) {
  const auto seen = r.fragment({1, 1}, 0);
  const auto unseen = r.fragment({1, 1}, 1);
  r.send(without(seen, 1));
  r.pass(1500ms);
  r.send(seen[1]);
  EXPECT_EQ(r.counters.late_chunks, 1U);
  EXPECT_EQ(r.counters.fragments_late, 0U) << "it counts as incomplete already";
  r.send(unseen);
  EXPECT_EQ(r.counters.late_chunks, 1 + unseen.size() - 1);
  EXPECT_EQ(r.counters.fragments_late, 1U);
  r.end();
  EXPECT_EQ(r.counters.events_incomplete, 1U);
}

/// 100 events of 3 crates; a fragment of 16 boards with all that they may have is 34 216 bytes.
TEST(faults, names_at_the_border_are_taken) {
  rig_options o;
  o.max_events = 100;
  rig r(o);
  r.send(wire_datagram{300, 24, 0, bytes(616)});
  r.send(wire_datagram{1, 25, discriminator(0, 511, 4), {}});
  EXPECT_EQ(r.input.refused.sum(), 0U);
  EXPECT_EQ(l2::max_fragment_bytes, 24 * 1400 + 616U);
  EXPECT_EQ(l2::max_fragment_bytes, 16 * l2::board_bytes + 8 + std::size_t{2} * 16 * 33);
  r.send(wire_datagram{300, 24, 0, bytes(618)});
  EXPECT_EQ(r.input.refused[refused::chunk_length], 1U);
  r.end();
}

TEST_F(a_fault, opaque_boards_are_carried_and_flagged) {
  const event_key key{1, 1};
  const auto f = make_fragment(key, std::vector<board_recipe>{{3, 9, 333, 7}, {9, 9, {}, 0}});
  r.send(datagrams_of(f, key, 0, r.options.crates, 1400) + r.fragment(key, 1) + r.fragment(key, 2));
  r.drain();
  ASSERT_EQ(r.pool.received.size(), 1U);
  EXPECT_EQ(r.pool.received.at(key).flags, event_opaque);
  EXPECT_EQ(r.pool.received.at(key).fragments.at(0).content, f);
  r.expect_balance();
}

TEST_F(a_fault, an_event_says_that_a_board_is_missing) {
  const auto fewer = make_fragment({1, 1}, std::vector<board_recipe>{{3, 500, {}, 0}});
  r.send(r.fragment({1, 1}, 0) + datagrams_of(fewer, {1, 1}, 1, r.options.crates, 1400) +
         r.fragment({1, 1}, 2));
  r.send(r.event({1, 2}));
  r.drain();
  ASSERT_EQ(r.pool.received.size(), 2U);
  EXPECT_EQ(r.pool.received.at({1, 1}).flags, event_incomplete);
  EXPECT_EQ(r.pool.received.at({1, 2}).flags, 0U);
  EXPECT_EQ(r.counters.events_incomplete, 0U) << "every fragment was there, as it was sent";
  r.expect_balance();
}

// What the event builder counts by crate: the crate with the fault stands out, and the others do
// not.

using counts = std::vector<std::uint64_t>;

counts by_crate(const crate_counts& c) { return {c[0], c[1], c[2]}; }

class crates : public a_fault {
protected:
  void send_without(event_key key, std::uint32_t place) {
    for (std::uint32_t p = 0; p < 3; ++p)
      if (p != place) r.send(r.fragment(key, p));
  }
};

TEST_F(crates, that_send_nothing_are_overdue_at_once_and_missing_in_the_end) {
  for (std::uint32_t n = 1; n <= 4; ++n) send_without({1, n}, 1);
  r.pass(200ms);
  EXPECT_EQ(r.counters.fragments_overdue, 0U);
  r.pass(100ms);
  r.pass(100ms);
  EXPECT_EQ(by_crate(r.counters.fragments_overdue), counts({0, 4, 0}));
  EXPECT_EQ(r.counters.fragments_missing, 0U);
  r.pass(1200ms);
  EXPECT_EQ(by_crate(r.counters.fragments_missing), counts({0, 4, 0}));
  EXPECT_EQ(by_crate(r.counters.fragments_incomplete), counts({4, 0, 4}));
  r.end();
}

TEST_F(crates, a_spill_behind_are_late_and_named_by_their_latest_fragment) {
  for (std::uint32_t spill : {5U, 6U}) {
    r.send(r.event({spill, 4})); // proves the spill
    for (std::uint32_t n = 1; n <= 3; ++n) send_without({spill, n}, 1);
    r.pass(2s);
  }
  for (std::uint32_t n = 1; n <= 3; ++n) r.send(r.fragment({5, n}, 1));
  r.end();
  EXPECT_EQ(by_crate(r.counters.fragments_late), counts({0, 3, 0}));
  EXPECT_EQ(r.counters.latest[1], (event_key{5, 3}));
  EXPECT_EQ(r.counters.latest[0], (event_key{6, 3}));
}

TEST_F(crates, far_from_the_spill_being_taken_are_astray) {
  for (std::uint32_t n = 1; n <= 3; ++n) r.send(r.event({100, n}));
  r.send(r.fragment({90, 1}, 2));
  r.end();
  EXPECT_GT(r.counters.astray[2], 0U);
  EXPECT_EQ(r.counters.astray, r.counters.astray[2]);
  EXPECT_EQ(r.counters.latest[2], (event_key{90, 1}));
}

TEST_F(crates, differ_by_their_time_stamps) {
  r.send(r.event({1, 1})); // stamps of 1000 times the number, and the place
  EXPECT_EQ(r.counters.time_ahead[0], 0U);
  EXPECT_EQ(r.counters.time_ahead[1], 1U);
  EXPECT_EQ(r.counters.time_ahead[2], 2U);
  r.end();
}

} // namespace
} // namespace l3::test
