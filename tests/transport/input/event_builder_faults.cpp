// SPDX-License-Identifier: Apache-2.0
// Every way in which an event can fail to arrive in order and whole: each is counted under its
// name, and both conservation sums hold after it.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "tests/transport/input/rig.hpp"
#include "transport/format/block.hpp"

namespace l3::test {
namespace {

using namespace std::chrono_literals;
using datagrams = std::vector<wire_datagram>;

datagrams operator+(datagrams a, const datagrams& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

datagrams without(datagrams all, std::size_t i) {
  all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
  return all;
}

class faults : public testing::Test {
protected:
  void end(rig& r) {
    r.drain();
    r.expect_balance();
    r.expect_bytes();
    EXPECT_EQ(r.builder.open_events(), 0U);
  }
};

TEST_F(faults, duplicates_are_counted_once_a_fragment) {
  rig r;
  const auto f = r.fragment({1, 1}, 0);
  r.send(f + f); // while the event is open: 3 chunks and a trailer more
  r.send(r.fragment({1, 1}, 1) + r.fragment({1, 1}, 2));
  EXPECT_EQ(r.counters.duplicate_chunks, f.size() - 1);
  EXPECT_EQ(r.counters.fragments_duplicate, 1U);
  r.send(r.fragment({1, 1}, 0) + r.fragment({1, 1}, 2)); // after its end
  EXPECT_EQ(r.counters.fragments_duplicate, 2U);
  EXPECT_EQ(r.counters.late_chunks, 0U);
  r.send(r.event({1, 2}));
  end(r);
  EXPECT_EQ(r.pool.received.size(), 2U);
  EXPECT_EQ(r.counters.fragments_seen, 8U);
}

TEST_F(faults, a_different_chunk_in_the_same_place_spoils_the_fragment) {
  rig r;
  auto f = r.fragment({1, 1}, 0);
  auto other = f[1];
  other.payload[700] ^= std::byte{1};
  r.send(datagrams{f[0], f[1], other} + datagrams{f[2], f[3]} + r.fragment({1, 1}, 1) +
         r.fragment({1, 1}, 2));
  end(r);
  EXPECT_EQ(r.pool.received.size(), 0U);
  EXPECT_EQ(r.counters.fragments_malformed[malformed::conflicting_chunks], 1U);
  EXPECT_EQ(r.counters.fragments_incomplete, 2U);
  EXPECT_EQ(r.counters.events_incomplete, 1U);
}

TEST_F(faults, a_lost_chunk_makes_the_event_incomplete_at_the_time_limit) {
  rig r;
  r.send(without(r.event({1, 1}), 1));
  r.send(r.event({1, 2}));
  r.pass(1499ms);
  EXPECT_EQ(r.counters.events_incomplete, 0U);
  r.pass(1ms);
  EXPECT_EQ(r.counters.events_incomplete, 1U);
  EXPECT_EQ(r.counters.fragments_incomplete, 3U);
  end(r);
  EXPECT_EQ(r.pool.received.size(), 1U);
}

TEST_F(faults, a_lost_trailer_is_no_loss_when_the_last_chunk_is_short) {
  rig r; // 4152 bytes in chunks of 1400: the last is short
  r.send(without(r.event({1, 1}), 3));
  end(r);
  EXPECT_EQ(r.pool.received.size(), 1U);
}

TEST_F(faults, a_lost_trailer_is_needed_when_the_last_chunk_is_full) {
  rig_options o;
  o.chunk_bytes = 4152; // the fragment in one chunk
  rig r(o);
  const auto all = r.event({1, 1});
  r.send(without(all, 1));
  EXPECT_EQ(r.counters.events_admitted, 0U);
  r.send(all[1]);
  EXPECT_EQ(r.counters.events_admitted, 1U);
  end(r);
}

TEST_F(faults, a_lost_fragment_makes_the_event_incomplete) {
  rig r;
  r.send(r.fragment({1, 1}, 0) + r.fragment({1, 1}, 2));
  r.pass(1500ms);
  EXPECT_EQ(r.counters.fragments_incomplete, 2U);
  EXPECT_EQ(r.counters.events_incomplete, 1U);
  end(r);
}

TEST_F(faults, late_chunks_of_an_event_that_was_given_up) {
  rig r;
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
  end(r);
  EXPECT_EQ(r.counters.events_incomplete, 1U);
}

TEST_F(faults, trailer_and_chunks_that_disagree) {
  rig r;
  auto f = r.fragment({1, 1}, 0);
  auto early = f;
  early[3].chunk = 2; // after the chunks: one too many came
  r.send(early + r.fragment({1, 1}, 1) + r.fragment({1, 1}, 2));
  EXPECT_EQ(r.counters.fragments_malformed[malformed::chunk_count], 1U);
  auto late = r.fragment({1, 2}, 1);
  late[3].chunk = 5;
  r.send(r.fragment({1, 2}, 0) + datagrams{late[3], late[0], late[1], late[2]} +
         r.fragment({1, 2}, 2));
  EXPECT_EQ(r.counters.fragments_malformed[malformed::chunk_count], 2U);
  auto shorter = r.fragment({1, 3}, 0);
  shorter[1].payload.resize(1000); // a short chunk before the last
  r.send(shorter + r.fragment({1, 3}, 1) + r.fragment({1, 3}, 2));
  EXPECT_EQ(r.counters.fragments_malformed[malformed::chunk_count], 3U);
  EXPECT_EQ(r.counters.events_incomplete, 3U);
  end(r);
}

TEST_F(faults, malformed_fragments_of_every_kind) {
  const auto with = [](std::size_t byte, unsigned flip) {
    return [=](bytes& f) { f[byte] ^= static_cast<std::byte>(flip); };
  };
  const std::vector<std::pair<malformed, std::function<void(bytes&)>>> damages{
      {malformed::crate_header, with(0, 0x80)},
      {malformed::wrong_l1a, with(3, 1)},
      {malformed::wrong_l1a, with(4 + 2072 + 11, 1)},
      {malformed::wrong_spill, with(4 + 2072 + 9, 0x40)},
      {malformed::wrong_slot, with(4 + 2072 + 9, 0x07)},
      {malformed::header_tag, with(4 + 2072, 0x40)},
      {malformed::crate_trailer, with(4 + 2 * 2072, 0x24)},
      {malformed::truncated, [](bytes& f) { f.erase(f.end() - 500, f.end()); }},
      {malformed::trailing_bytes, [](bytes& f) { f.insert(f.end(), 8, std::byte{}); }},
  };
  rig_options o;
  o.chunk_bytes =
      8000; // one chunk a fragment: what does not name the spill of its event would be refused
  rig r(o);
  std::uint32_t number = 0;
  for (const auto& [reason, damage] : damages) {
    const event_key key{1, ++number};
    auto f = make_fragment(key, 1, r.options.crates.crates[1]);
    damage(f);
    const auto before = r.counters.fragments_malformed[reason];
    r.send(r.fragment(key, 0) + datagrams_of(f, key, 1, o.crates, o.chunk_bytes) +
           r.fragment(key, 2));
    EXPECT_EQ(r.counters.fragments_malformed[reason], before + 1) << name_of(reason);
  }
  EXPECT_EQ(r.counters.events_incomplete, damages.size());
  EXPECT_EQ(r.counters.fragments_incomplete, 2 * damages.size());
  end(r);
  EXPECT_TRUE(r.pool.received.empty());
}

TEST_F(faults, refused_datagrams_touch_nothing) {
  rig_options o;
  o.max_events = 100;
  rig r(o);
  const auto good = r.fragment({1, 1}, 0);
  const auto refuse = [&](refused reason, wire_datagram d) {
    const auto before = r.link.refused[reason];
    r.send(d);
    EXPECT_EQ(r.link.refused[reason], before + 1) << name_of(reason);
  };
  const auto data = [&](std::uint32_t id, std::uint32_t chunk, std::uint32_t discriminator,
                        std::size_t size) {
    return wire_datagram{id, chunk, discriminator, bytes(size)};
  };
  refuse(refused::fragment_id, data(0, 0, 0, 100));
  refuse(refused::fragment_id, data(301, 0, 0, 100));
  refuse(refused::fragment_id, data(0xffffffff, 0, 0, 100));
  refuse(refused::fragment_id, data(301, 4, discriminator(0, 1, 4), 0));
  refuse(refused::chunk_index, data(1, 25, 0, 100));
  refuse(refused::chunk_index, data(1, 0xffffffff, 0, 100));
  refuse(refused::chunk_index, data(1, 26, discriminator(0, 1, 4), 0));
  refuse(refused::chunk_index, data(1, 0, discriminator(0, 1, 4), 0));
  refuse(refused::chunk_length, data(1, 0, 0, 99));
  refuse(refused::chunk_length, data(1, 24, 0, 1400));
  refuse(refused::discriminator, data(1, 0, 4, 100));
  refuse(refused::discriminator, data(1, 4, discriminator(0, 1, 5), 0));
  refuse(refused::discriminator, data(1, 4, discriminator(0, 1, 7), 0));
  refuse(refused::discriminator, end_of_spill(1, 99, 5));
  EXPECT_EQ(r.counters.fragments_seen, 0U);
  EXPECT_EQ(r.builder.open_events(), 0U);
  r.send(r.event({1, 1}));
  end(r);
  EXPECT_EQ(r.pool.received.size(), 1U);
}

TEST_F(faults, opaque_boards_are_carried_and_flagged) {
  rig r;
  const event_key key{1, 1};
  const auto f = make_fragment(key, std::vector<board_recipe>{{3, 9, 333, 7}, {9, 9, {}, 0}});
  r.send(datagrams_of(f, key, 0, r.options.crates, 1400) + r.fragment(key, 1) + r.fragment(key, 2));
  r.drain();
  ASSERT_EQ(r.pool.received.size(), 1U);
  EXPECT_EQ(r.pool.received.at(key).flags, event_opaque);
  EXPECT_EQ(r.pool.received.at(key).fragments.at(0).content, f);
  r.expect_balance();
}

TEST_F(faults, an_event_says_that_a_board_is_missing) {
  rig r;
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

TEST_F(faults, forwarding_carries_what_is_there_and_says_so) {
  rig_options o;
  o.incomplete = incomplete_events::forward;
  rig r(o);
  const auto whole = r.fragment({1, 1}, 0);
  auto bad = make_fragment({1, 1}, 1, r.options.crates.crates[1]);
  bad[4 + 2072] ^= std::byte{0x40};
  r.send(whole + datagrams_of(bad, {1, 1}, 1, o.crates, 1400) + without(r.fragment({1, 1}, 2), 1));
  r.send(without(r.fragment({1, 2}, 2), 1)); // nothing whole: nothing to forward
  r.pass(1500ms);
  r.drain();
  ASSERT_EQ(r.pool.received.size(), 1U);
  const auto& event = r.pool.received.at({1, 1});
  EXPECT_EQ(event.flags, event_incomplete | event_damaged);
  ASSERT_EQ(event.fragments.size(), 2U);
  EXPECT_FALSE(event.fragments.at(0).raw);
  EXPECT_TRUE(event.fragments.at(1).raw);
  EXPECT_EQ(event.fragments.at(1).boards, 0U);
  EXPECT_EQ(event.fragments.at(1).content, bad);
  EXPECT_EQ(r.counters.fragments_admitted, 1U);
  EXPECT_EQ(r.counters.fragments_incomplete, 2U);
  EXPECT_EQ(r.counters.fragments_malformed[malformed::header_tag], 1U);
  EXPECT_EQ(r.counters.events_incomplete, 2U);
  EXPECT_EQ(r.counters.events_admitted, 1U);
  r.expect_balance();
}

TEST_F(faults, garbage_of_other_senders_is_survived) {
  rig r;
  for (std::uint32_t n = 0; n < 2000; ++n) { // little-endian words, no trailers; never an event
    wire_datagram d{swap_bytes(n % 50), swap_bytes(n % 256), 0,
                    bytes(1012, static_cast<std::byte>(n))};
    if (n % 7 == 0) d.discriminator = swap_bytes(n);
    if (n % 11 == 0) d.fragment_id = n % 60 + 1;
    if (n % 22 == 0) d.chunk = n % 5;
    r.send(d);
  }
  r.pass(1500ms);
  r.send(r.event({7, 1}) + r.event({7, 2}));
  end(r);
  EXPECT_TRUE(r.pool.received.contains({7, 2}));
}

// Batches.
// -------------------------------------------------------------------------------------------------------------

TEST_F(faults, events_open_when_their_batch_closes_are_parked_and_finish_later) {
  rig r; // 4 events a batch
  datagrams first;
  datagrams rest;
  for (std::uint32_t n = 1; n <= 3; ++n) {
    const auto all = r.event({1, n});
    first = first + datagrams(all.begin(), all.begin() + 6);
    rest = rest + datagrams(all.begin() + 6, all.end());
  }
  r.send(r.event({1, 10}) + first);
  r.pass(5ms); // event 10 is old enough
  EXPECT_EQ(r.pool.submitted(), 1U);
  EXPECT_EQ(r.pool.received.size(), 1U);
  r.send(rest);
  end(r);
  EXPECT_EQ(r.pool.received.size(), 4U);
  EXPECT_EQ(r.counters.parked, 3U);
}

TEST_F(faults, parked_chunks_are_compared_too) {
  rig r;
  auto all = r.event({1, 1});
  r.send(r.event({1, 2}) + datagrams(all.begin(), all.begin() + 2));
  r.pass(5ms);
  auto other = all[1];
  other.payload[3] ^= std::byte{1};
  r.send(all[0]);
  EXPECT_EQ(r.counters.duplicate_chunks, 1U);
  r.send(other);
  r.send(datagrams(all.begin() + 2, all.end()));
  end(r);
  EXPECT_EQ(r.counters.fragments_malformed[malformed::conflicting_chunks], 1U);
}

TEST_F(faults, a_full_parking_area_gives_up_its_oldest_event) {
  rig r; // 4 places
  for (std::uint32_t n = 1; n <= 6; ++n) {
    r.send(r.fragment({1, n}, 0));
    r.send(r.event({1, 100 + n}));
    r.pass(5ms);
  }
  EXPECT_EQ(r.counters.events_incomplete, 2U);
  r.send(r.fragment({1, 1}, 1));
  EXPECT_EQ(r.counters.fragments_late, 1U) << "event 1 was given up";
  r.send(r.fragment({1, 6}, 1) + r.fragment({1, 6}, 2));
  end(r);
  EXPECT_TRUE(r.pool.received.contains({1, 6}));
}

TEST_F(faults, more_open_events_than_a_batch_and_the_parking_area_hold) {
  rig r;
  datagrams first;
  datagrams rest;
  for (std::uint32_t n = 1; n <= 200; ++n) {
    first = first + r.fragment({1, n}, 0);
    rest = rest + r.fragment({1, n}, 1) + r.fragment({1, n}, 2);
  }
  r.send(first + rest);
  end(r);
  EXPECT_EQ(r.counters.events_admitted + r.counters.events_incomplete, 200U);
  EXPECT_GE(r.counters.events_incomplete, 100U);
}

TEST_F(faults, without_a_frame_events_are_counted_and_shed) {
  rig r;
  r.send(r.event({1, 1}) + r.fragment({1, 2}, 0));
  r.pool.stop(true);
  r.pass(5ms * 8); // closed although there is no other frame
  EXPECT_EQ(r.pool.submitted(), 1U);
  r.send(r.event({1, 3}) + r.event({1, 4}) + r.fragment({1, 5}, 1));
  EXPECT_EQ(r.outcomes.events_shed[shed::no_frame], 2U);
  EXPECT_EQ(r.counters.events_admitted, 3U);
  r.send(r.fragment({1, 2}, 1) +
         r.fragment({1, 2}, 2)); // was in progress: waits, complete, for a frame
  EXPECT_EQ(r.counters.events_admitted, 3U);
  r.pool.stop(false);
  r.pass(1ms);
  EXPECT_EQ(r.counters.events_admitted, 4U);
  r.send(r.event({1, 6}));
  end(r);
  EXPECT_TRUE(r.pool.received.contains({1, 2}));
  EXPECT_TRUE(r.pool.received.contains({1, 6}));
  EXPECT_FALSE(r.pool.received.contains({1, 3}));
  EXPECT_EQ(r.counters.events_incomplete, 1U);
}

TEST_F(faults, a_parked_event_that_ends_closes_a_batch_without_room) {
  rig_options o;
  o.incomplete = incomplete_events::forward;
  o.batch_events = 1;
  rig r(o);
  r.send(r.fragment({1, 1}, 0));
  r.send(r.event({1, 2})); // the first is parked
  r.send(r.fragment({1, 3}, 0));
  r.pass(1500ms);
  EXPECT_EQ(r.outcomes.events_shed.sum(), 0U);
  end(r);
  EXPECT_EQ(r.pool.received.size(), 3U);
  EXPECT_EQ(r.counters.parked, 2U);
}

TEST_F(faults, parked_events_that_are_left_at_the_end_fill_batch_after_batch) {
  rig_options o;
  o.incomplete = incomplete_events::forward;
  o.batch_events = 2;
  o.parked = 8;
  rig r(o);
  for (std::uint32_t n = 1; n <= 7; ++n) r.send(r.fragment({1, n}, 0));
  end(r);
  EXPECT_EQ(r.outcomes.events_shed.sum(), 0U);
  EXPECT_EQ(r.pool.received.size(), 7U);
}

TEST_F(faults, events_that_leave_a_full_parking_area_go_into_the_next_batch) {
  rig_options o;
  o.incomplete = incomplete_events::forward;
  o.batch_events = 2;
  o.parked = 2;
  rig r(o);
  for (std::uint32_t n = 1; n <= 7; ++n) r.send(r.fragment({1, n}, 0));
  end(r);
  EXPECT_EQ(r.outcomes.events_shed.sum(), 0U);
  EXPECT_EQ(r.pool.received.size(), 7U);
}

TEST_F(faults, an_old_batch_waits_while_every_other_frame_is_busy) {
  rig_options o;
  o.batches = 2;
  rig r(o);
  r.pool.hold(true);
  r.send(r.event({1, 1}));
  r.pass(5ms);
  EXPECT_EQ(r.pool.submitted(), 1U);
  r.send(r.event({1, 2}));
  r.pass(5ms);
  EXPECT_EQ(r.pool.submitted(), 1U) << "there is nowhere to go on";
  r.pool.hold(false);
  r.pass(1ms);
  EXPECT_EQ(r.pool.submitted(), 2U);
  end(r);
}

TEST_F(faults, a_batch_is_not_submitted_while_a_thread_may_write_into_it) {
  rig r;
  landing_strip other(8, 1400);
  r.builder.enter(other, r.now);
  const auto slots = other.slots();
  r.send(r.event({1, 1}));
  r.pass(5ms);
  EXPECT_EQ(r.pool.submitted(), 0U);
  // What lands in the closed batch is copied to the next.
  const auto all = r.event({1, 2});
  for (std::size_t at = 0; at < all.size();) {
    ASSERT_EQ(slots.size(), 8U);
    at += r.land(all, at, other);
    EXPECT_EQ(r.pool.submitted(), 1U);
  }
  r.builder.leave(other);
  end(r);
  EXPECT_EQ(r.pool.received.size(), 2U);
}

TEST_F(faults, slots_of_events_given_up_are_used_again) {
  rig r;
  for (std::uint32_t n = 1; n <= 500; ++n) {
    r.send(without(r.event({1, n}), 0));
    r.now += 1'500'000'000;
    r.builder.tick(r.now);
  }
  EXPECT_EQ(r.pool.submitted(), 0U) << "one batch was enough";
  end(r);
}

TEST_F(faults, making_room_for_a_chunk_may_end_its_event) {
  rig_options o;
  o.parked = 1;
  o.strip = 64;
  o.batches = 2;
  rig r(o);
  landing_strip early(o.strip, o.chunk_bytes);
  const auto f = r.fragment({1, 1}, 0);
  r.builder.enter(early, r.now);
  (void)r.land({f[0]}, 0, early); // opens in the first batch
  r.send(r.event({1, 2}));
  r.pass(6ms); // the first batch closes, the event is parked
  r.send(r.fragment({1, 3}, 0)[0]);
  std::vector<std::unique_ptr<landing_strip>> others; // they take all slots of the second batch
  for (int i = 0; i < 12; ++i) {
    others.push_back(std::make_unique<landing_strip>(o.strip, o.chunk_bytes));
    r.builder.enter(*others.back(), r.now);
  }
  (void)r.land({f[1]}, 0, early); // no slot, no frame, no place to park: the oldest event goes
  EXPECT_EQ(r.counters.events_incomplete, 1U);
  EXPECT_EQ(r.counters.late_chunks, 1U);
  for (const auto& s : others) r.builder.leave(*s);
  r.builder.leave(early);
  end(r);
}

} // namespace
} // namespace l3::test
