// SPDX-License-Identifier: Apache-2.0
// Every way in which an event can fail to arrive in order and whole: each is counted under its
// name, and both conservation sums hold after it.
#include <gtest/gtest.h>

#include <algorithm>

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
  EXPECT_EQ(r.counters.late_chunks, 2 * (f.size() - 1));
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
    const auto before = r.input.refused[reason];
    r.send(d);
    EXPECT_EQ(r.input.refused[reason], before + 1) << name_of(reason);
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

/// 100 events of 3 crates; a fragment of 16 boards with all that they may have is 34 216 bytes.
TEST_F(faults, names_at_the_border_are_taken) {
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
  r.drain();
  r.expect_balance();
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

} // namespace
} // namespace l3::test
