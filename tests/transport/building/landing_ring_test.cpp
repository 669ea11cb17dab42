// SPDX-License-Identifier: Apache-2.0
// A ring between a receive thread and the owner of the event builder: its slots, and that no thread
// needs another one to move on.
#include "transport/building/landing_ring.hpp"

#include <gtest/gtest.h>
#include <set>
#include <vector>

#include "tests/transport/building/rig.hpp"

namespace l3::test {
namespace {

using namespace std::chrono_literals;
using memories = std::vector<const std::byte*>;

/// Of the free entries.
memories memories_of(landing_ring& ring) {
  memories all;
  for (std::size_t n = 0; n < ring.free(); ++n) all.push_back(ring.free_entry(n).slot.memory);
  return all;
}

class landing_rings : public testing::Test {
protected:
  /// Lands the datagrams, which stay in the ring.
  std::size_t put(const std::vector<wire_datagram>& datagrams, landing_ring& into) {
    return rig::put(r.builder, datagrams, 0, datagrams.size(), into);
  }

  rig r{{.batch_events = 8}};                             // large enough for two rings of 16
  landing_ring other{r.builder, r.options.ring, r.input}; // of a second thread
};

TEST_F(landing_rings, only_kept_datagrams_use_up_slots) {
  r.builder.enter(r.ring, r.now);
  const auto all = r.event({1, 1});
  const auto before = memories_of(r.ring);
  const std::set<const std::byte*> held(before.begin(), before.end());
  EXPECT_EQ(held.size(), r.options.ring);
  (void)put({all[0], all[0], all[3], all[1]}, r.ring); // the second is a duplicate, then a trailer
  r.builder.take(r.ring, r.now);
  const auto after = memories_of(r.ring);
  const std::set<const std::byte*> now(after.begin(), after.end());
  EXPECT_EQ(now.size(), r.options.ring);
  EXPECT_FALSE(now.contains(before[0]));
  EXPECT_TRUE(now.contains(before[1]));
  EXPECT_TRUE(now.contains(before[2]));
  EXPECT_FALSE(now.contains(before[3]));
  r.builder.leave(r.ring, r.now);
  r.end();
}

TEST_F(landing_rings, another_thread_takes_what_a_thread_has_landed) {
  r.builder.enter(other, r.now);
  const auto all = r.event({1, 1});
  ASSERT_EQ(put(all, other), all.size());
  EXPECT_EQ(r.counters.events_admitted, 0U);
  r.send(r.event({1, 2}));
  EXPECT_EQ(r.counters.events_admitted, 2U);
  EXPECT_EQ(other.free(), other.size()) << "its entries have new slots";
  r.builder.leave(other, r.now);
  r.end(2);
}

TEST_F(landing_rings, a_full_ring_takes_no_more_and_the_others_go_on) {
  r.builder.enter(other, r.now);
  const auto all = r.event({1, 1}) + r.event({1, 2});
  const std::size_t landed = put(all, other);
  EXPECT_EQ(landed, other.size());
  EXPECT_EQ(other.free(), 0U);
  EXPECT_EQ(put(all, other), 0U);
  r.send(r.event({1, 3}));
  EXPECT_EQ(other.free(), other.size());
  (void)rig::put(r.builder, all, landed, all.size(), other);
  r.builder.leave(other, r.now);
  r.end(3);
}

TEST_F(landing_rings, between_sweeps_a_thread_keeps_no_frame) {
  r.builder.enter(other, r.now);
  r.send(r.event({1, 1}));
  r.pass(5ms);
  EXPECT_EQ(r.pool.submitted(), 0U) << "the kernel may write into it";
  r.builder.leave(other, r.now);
  EXPECT_EQ(r.pool.submitted(), 1U);
  r.send(r.event({1, 2}));
  r.pass(5ms);
  EXPECT_EQ(r.pool.submitted(), 2U) << "the other thread stands still";
  r.builder.enter(other, r.now);
  ASSERT_EQ(put(r.event({1, 3}), other), r.event({1, 3}).size());
  r.builder.leave(other, r.now);
  r.end(3);
}

TEST_F(landing_rings, a_thread_gives_up_a_closed_batch_when_it_takes) {
  r.builder.enter(other, r.now);
  r.send(r.event({1, 1}));
  r.pass(5ms);
  r.builder.take(other, r.now);
  EXPECT_EQ(r.pool.submitted(), 1U);
  EXPECT_EQ(other.free(), other.size());
  r.builder.leave(other, r.now);
  r.end(1);
}

TEST_F(landing_rings, without_a_frame_datagrams_land_in_their_own_memory) {
  r.pool.stop(true);
  r.builder.enter(other, r.now);
  EXPECT_EQ(other.free(), other.size());
  EXPECT_EQ(other.free_entry(0).slot.batch, nullptr);
  ASSERT_EQ(put(r.event({1, 1}), other), r.event({1, 1}).size());
  r.pool.stop(false);
  r.builder.leave(other, r.now);
  r.end(1);
}

TEST_F(landing_rings, no_two_entries_share_memory_after_an_exchange) {
  r.pool.stop(true);
  r.builder.enter(other, r.now);
  const auto all = r.event({1, 1});
  for (std::size_t n = 0; n < 3; ++n) {
    other.exchange(0, 5);
    ASSERT_EQ(put({all[n]}, other), 1U);
    if (n == 0) r.builder.take(other, r.now);
  }
  r.builder.take(other, r.now);
  const auto all_of_it = memories_of(other);
  EXPECT_EQ(std::set(all_of_it.begin(), all_of_it.end()).size(), other.size());
  r.builder.leave(other, r.now);
}

TEST_F(landing_rings, an_exchanged_slot_keeps_no_closed_batch) {
  r.builder.enter(other, r.now);
  r.send(r.event({1, 1}));
  r.pass(5ms);
  ASSERT_EQ(put(r.event({1, 2}), other), r.event({1, 2}).size());
  r.send(r.event({1, 3})); // the builder takes what has landed
  const std::size_t last = other.free() - 1;
  ASSERT_NE(other.free_entry(0).slot.batch, other.free_entry(last).slot.batch);
  other.exchange(0, last);
  r.builder.leave(other, r.now);
  EXPECT_EQ(r.pool.submitted(), 1U);
  EXPECT_EQ(other.free_entry(0).slot.batch, other.free_entry(last).slot.batch);
  r.end(3);
}

/// Datagrams that nobody has taken when their thread ends.
TEST_F(landing_rings, a_thread_that_ends_leaves_nothing_behind) {
  {
    landing_ring third(r.builder, r.options.ring, r.input);
    r.builder.enter(third, r.now);
    ASSERT_EQ(put(r.event({1, 1}), third), r.event({1, 1}).size());
  }
  EXPECT_EQ(r.counters.events_admitted, 1U);
  r.end(1);
}

} // namespace
} // namespace l3::test
