// SPDX-License-Identifier: Apache-2.0
// Batches close before all their events are whole, frames run out, the parking area is full: events
// with room are kept, and the others are counted under their name.
#include <gtest/gtest.h>

#include <memory>

#include "tests/transport/building/rig.hpp"

namespace l3::test {
namespace {

using namespace std::chrono_literals;
using datagrams = std::vector<wire_datagram>;

class a_batch : public testing::Test {
protected:
  rig r;
};

TEST_F(a_batch, a_closed_batch_does_not_wait_for_a_sender_that_is_too_slow) {
  const auto all = r.event({1, 1});
  r.send(r.event({1, 2}) + datagrams{all[0]});
  r.pass(5ms);
  std::size_t i = 1;
  for (; r.pool.submitted() == 0 && i + 1 < all.size(); ++i) {
    r.pass(2900us);
    r.send(all[i]);
  }
  EXPECT_EQ(i, 10U) << "25 ms";
  r.send(datagrams(all.begin() + static_cast<std::ptrdiff_t>(i), all.end()));
  r.end();
  EXPECT_EQ(r.counters.parked, 1U);
  EXPECT_EQ(r.pool.received.size(), 2U);
}

TEST(batches, a_closed_batch_waits_no_longer_when_its_frame_is_needed) {
  rig_options o;
  o.batches = 2;
  rig r(o);
  const auto late = r.event({1, 1});
  r.send(r.event({1, 2}) + datagrams(late.begin(), late.begin() + 2));
  r.pass(5ms);
  for (std::uint32_t n = 3; n <= 6; ++n) r.send(r.event({1, n})); // the other frame is full
  EXPECT_EQ(r.pool.submitted(), 2U);
  r.send(datagrams(late.begin() + 2, late.end()));
  EXPECT_EQ(r.outcomes.events_shed.sum(), 0U);
  r.end();
  EXPECT_EQ(r.counters.parked, 1U);
  EXPECT_EQ(r.pool.received.size(), 6U);
}

TEST_F(a_batch, a_full_parking_area_gives_up_its_oldest_event) {
  for (std::uint32_t n = 1; n <= 6; ++n) {
    r.send(r.fragment({1, n}, 0));
    r.send(r.event({1, 100 + n}));
    r.pass(100ms);
  }
  r.close_batch();
  EXPECT_EQ(r.counters.events_incomplete, 2U);
  r.send(r.fragment({1, 1}, 1));
  EXPECT_EQ(r.counters.fragments_late, 1U) << "event 1 was given up";
  r.send(r.fragment({1, 6}, 1) + r.fragment({1, 6}, 2));
  r.end();
  EXPECT_TRUE(r.pool.received.contains({1, 6}));
}

TEST_F(a_batch, a_full_parking_area_exchanges_no_young_event) {
  for (std::uint32_t n = 1; n <= 6; ++n) r.send(r.fragment({1, n}, 0) + r.event({1, 100 + n}));
  r.pass(5ms);
  r.close_batch();
  EXPECT_EQ(r.counters.parked, r.options.parked);
  EXPECT_EQ(r.counters.events_incomplete, 2U);
  r.send(r.fragment({1, 1}, 1) + r.fragment({1, 1}, 2));
  r.end();
  EXPECT_TRUE(r.pool.received.contains({1, 1}));
}

TEST(batches, without_a_frame_events_are_counted_and_shed) {
  rig_options o;
  o.batches = 2;
  rig r(o);
  r.pool.hold(true);
  r.send(r.event({1, 1}) + r.fragment({1, 2}, 0));
  r.pass(5ms); // event 2 is parked
  for (std::uint32_t n = 11; n <= 14; ++n) r.send(r.event({1, n}));
  r.pass(1ms); // closed, as it is full, although there is no other frame
  EXPECT_EQ(r.pool.submitted(), 2U);
  r.send(r.event({1, 3}) + r.event({1, 4}) + r.fragment({1, 5}, 1));
  EXPECT_EQ(r.outcomes.events_shed[shed::no_frame], 2U);
  EXPECT_EQ(r.counters.events_admitted, 7U);
  r.send(r.fragment({1, 2}, 1) +
         r.fragment({1, 2}, 2)); // was in progress: waits, complete, for a frame
  EXPECT_EQ(r.counters.events_admitted, 7U);
  r.pool.hold(false);
  r.pass(1ms);
  EXPECT_EQ(r.counters.events_admitted, 8U);
  r.send(r.event({1, 6}));
  r.end();
  EXPECT_TRUE(r.pool.received.contains({1, 2}));
  EXPECT_TRUE(r.pool.received.contains({1, 6}));
  EXPECT_FALSE(r.pool.received.contains({1, 3}));
  EXPECT_EQ(r.counters.events_incomplete, 1U);
}

/// No frame is free; event 2 is complete and waits, event 3 lacks a fragment.
class draining : public testing::Test {
protected:
  static rig_options two_batches() {
    rig_options o;
    o.batches = 2;
    return o;
  }
  void SetUp() override {
    r.pool.hold(true);
    r.send(r.event({1, 1}) + r.fragment({1, 2}, 0) + r.fragment({1, 3}, 0));
    r.pass(5ms);
    for (std::uint32_t n = 11; n <= 14; ++n) r.send(r.event({1, n}));
    r.send(r.fragment({1, 2}, 1) + r.fragment({1, 2}, 2));
    ASSERT_EQ(r.pool.submitted(), 2U);
    ASSERT_EQ(r.builder.open_events(), 2U);
  }
  rig r{two_batches()};
};

TEST_F(draining, a_complete_event_waits_for_a_frame) {
  EXPECT_FALSE(r.builder.try_drain(r.now));
  EXPECT_EQ(r.builder.open_events(), 1U) << "what is incomplete needs no frame";
  EXPECT_EQ(r.counters.events_incomplete, 1U);
  EXPECT_FALSE(r.builder.try_drain(r.now));
  r.pool.hold(false);
  EXPECT_TRUE(r.builder.try_drain(r.now));
  r.end();
  EXPECT_TRUE(r.pool.received.contains({1, 2}));
  EXPECT_EQ(r.outcomes.events_shed.sum(), 0U);
}

TEST_F(draining, what_still_waits_at_the_end_is_shed) {
  EXPECT_FALSE(r.builder.try_drain(r.now));
  r.end();
  EXPECT_EQ(r.outcomes.events_shed[shed::drain], 1U);
  EXPECT_EQ(r.outcomes.events_shed.sum(), 1U);
}

TEST(batches, a_drain_submits_what_is_full_and_goes_on_with_the_next) {
  rig_options o;
  o.incomplete = incomplete_events::forward;
  o.batch_events = 2;
  o.batches = 2;
  o.parked = 8;
  rig r(o);
  r.send(r.event({1, 1}) + r.fragment({1, 2}, 0));
  r.pass(5ms);
  for (std::uint32_t n = 3; n <= 6; ++n) r.send(r.fragment({1, n}, 0));
  r.pool.hold(true);
  EXPECT_FALSE(r.builder.try_drain(r.now));
  EXPECT_EQ(r.pool.received.size(), 5U) << "two batches more went, full";
  r.pool.hold(false);
  EXPECT_TRUE(r.builder.try_drain(r.now));
  r.end();
  EXPECT_EQ(r.outcomes.events_shed.sum(), 0U);
  EXPECT_EQ(r.pool.received.size(), 6U);
}

TEST_F(a_batch, while_compute_stands_still_every_frame_fills_before_an_event_is_shed) {
  r.pool.hold(true);
  r.send(r.event({1, 1}));
  r.pass(5ms); // the only one that leaves before it is full: compute was idle
  for (std::uint32_t n = 2; n <= 9; ++n) {
    r.send(r.event({1, n}));
    r.pass(400ms);
  }
  EXPECT_EQ(r.outcomes.events_shed.sum(), 0U);
  EXPECT_EQ(r.pool.submitted(), 3U);
  r.send(r.event({1, 10}));
  EXPECT_EQ(r.outcomes.events_shed[shed::no_frame], 1U) << "now all are full";
  r.pool.hold(false);
  r.send(r.event({1, 11}));
  r.pass(5ms);
  EXPECT_EQ(r.pool.submitted(), 4U);
  r.end(10);
}

TEST_F(a_batch, a_batch_is_not_submitted_while_a_thread_may_write_into_it) {
  landing_ring other(r.builder, 8, r.input);
  r.builder.enter(other, r.now);
  r.send(r.event({1, 1}));
  r.pass(5ms);
  EXPECT_EQ(r.pool.submitted(), 0U);
  // A chunk that lands in the closed batch is copied to the next.
  const auto all = r.event({1, 2});
  for (std::size_t at = 0; at < all.size();) {
    ASSERT_EQ(other.free(), 8U);
    at += r.land(all, at, other);
    EXPECT_EQ(r.pool.submitted(), 1U);
  }
  r.builder.leave(other, r.now);
  r.end(2);
}

TEST(batches, making_room_for_a_chunk_may_end_its_event) {
  rig_options o;
  o.parked = 1;
  o.ring = 64;
  o.batches = 2;
  rig r(o);
  landing_ring early(r.builder, o.ring, r.input);
  const auto f = r.fragment({1, 1}, 0);
  r.builder.enter(early, r.now);
  (void)r.land({f[0]}, 0, early); // opens in the first batch
  r.send(r.event({1, 2}));
  r.pass(100ms); // the first batch closes, the event is parked
  r.send(r.fragment({1, 3}, 0)[0]);
  std::vector<std::unique_ptr<landing_ring>> others; // they take all slots of the second batch
  for (int i = 0; i < 40; ++i) {
    others.push_back(std::make_unique<landing_ring>(r.builder, o.ring, r.input));
    r.builder.enter(*others.back(), r.now);
  }
  (void)r.land({f[1]}, 0, early); // no slot, no frame, no place to park: the oldest event goes
  EXPECT_EQ(r.counters.events_incomplete, 1U);
  EXPECT_EQ(r.counters.late_chunks, 1U);
  for (const auto& s : others) r.builder.leave(*s, r.now);
  r.builder.leave(early, r.now);
  r.end();
}

} // namespace
} // namespace l3::test
