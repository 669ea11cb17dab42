// SPDX-License-Identifier: Apache-2.0
// Every way in which an event can fail to arrive in order and whole: each is counted under its
// name, and both conservation sums hold after it.
#include <algorithm>
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

TEST_F(a_fault, trailer_and_chunks_that_disagree) {
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
  r.end();
}

TEST(faults, malformed_fragments_of_every_kind) {
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
  r.end();
  EXPECT_TRUE(r.pool.received.empty());
}

TEST(faults, refused_datagrams_touch_nothing) {
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
  r.end(1);
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

TEST(faults, forwarding_carries_what_is_there_and_says_so) {
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

TEST_F(crates, are_not_missing_in_an_event_that_another_made_up) {
  r.send(r.event({1, 1})); // proves the spill
  r.send(r.fragment({1, 1000}, 1));
  r.pass(2s);
  EXPECT_EQ(r.counters.fragments_missing, 0U);
  EXPECT_EQ(r.counters.fragments_overdue, 0U);
  EXPECT_EQ(by_crate(r.counters.fragments_alone), counts({0, 1, 0}));
  EXPECT_EQ(r.counters.latest[1], (event_key{1, 1000}));
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
