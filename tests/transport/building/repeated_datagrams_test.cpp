// SPDX-License-Identifier: Apache-2.0
// Datagrams of events that have ended: with the same bytes they are duplicates, with other bytes
// they are of other events under the same numbers, which are counted by themselves and named.
#include <gtest/gtest.h>

#include "tests/transport/building/records.hpp"
#include "tests/transport/building/rig.hpp"

namespace l3::test {
namespace {

using namespace std::chrono_literals;
using datagrams = std::vector<wire_datagram>;

// Three fragments, each of three chunks and a trailer. The last chunk does not name its spill.
constexpr std::size_t second_fragment = 4;
constexpr std::size_t last_chunk = 2;
constexpr std::size_t chunks = 9;

datagrams operator+(datagrams a, const datagrams& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

datagrams flipped(datagrams all, std::size_t at, std::size_t byte) {
  all[at].payload[byte] ^= std::byte{1};
  return all;
}

/// Another event under the same numbers: each of its chunks has another byte, the last one of a
/// fragment in a footer.
datagrams another(datagrams all) {
  for (auto& d : all) {
    if (!d.payload.empty()) d.payload[d.payload.size() - 10] ^= std::byte{1};
  }
  return all;
}

class repeated_datagrams : public testing::Test {
protected:
  static void expect(const rig& r, std::uint64_t duplicate, std::uint64_t conflicting) {
    EXPECT_EQ(r.counters.fragments_duplicate, duplicate);
    EXPECT_EQ(r.counters.fragments_conflicting, conflicting);
  }
  static void send_record(rig& r, event_key key) {
    stream_landing stream(max_event_body(r.options.crates));
    r.builder.attach(stream);
    const auto body = event_record_body(key, r.options.crates);
    ASSERT_TRUE(r.builder.reserve(stream, body.size(), r.now));
    std::memcpy(r.builder.enter(stream), body.data(), body.size());
    r.builder.leave(stream, body.size());
    static_cast<void>(r.builder.take_event(stream, key.spill, r.now));
    r.builder.detach(stream);
  }
  /// What was admitted came out as it came first.
  static void finish(rig& r, std::size_t events) {
    r.pass(100ms);
    r.drain();
    EXPECT_EQ(r.pool.received.size(), events);
    r.expect_balance();
    r.expect_bytes();
  }
};

TEST_F(repeated_datagrams, with_the_same_bytes_are_duplicates) {
  rig r;
  const auto event = r.event({1, 1});
  r.send(event + event + event);
  expect(r, 3, 0);
  EXPECT_EQ(r.counters.duplicate_chunks, 2 * chunks);
  EXPECT_TRUE(r.builder.fetch_conflicts().empty());
  finish(r, 1);
}

TEST_F(repeated_datagrams, with_another_byte_at_an_end_of_a_chunk_conflict) {
  for (std::size_t chunk = 0; chunk <= last_chunk; ++chunk) {
    for (const auto from_end : {false, true}) {
      for (const std::size_t byte : {0U, 7U, 8U, 15U}) {
        rig r;
        const auto event = r.event({1, 1});
        const std::size_t at = second_fragment + chunk;
        const auto size = event[at].payload.size();
        r.send(event + flipped(event, at, from_end ? size - 1 - byte : byte));
        expect(r, 3, 1); // the other chunks are duplicates, in that fragment too
        EXPECT_EQ(r.counters.duplicate_chunks, chunks - 1);
        EXPECT_EQ(r.builder.fetch_conflicts(), std::vector{(event_conflict{{1, 1}, 0b10})});
        finish(r, 1);
      }
    }
  }
}

/// The limit of two bytes a chunk, as docs/formats.md says.
TEST_F(repeated_datagrams, with_another_byte_between_the_ends_look_the_same) {
  rig r;
  const auto event = r.event({1, 1});
  r.send(event + flipped(event, second_fragment, 700));
  expect(r, 3, 0);
  finish(r, 1);
}

TEST_F(repeated_datagrams, of_another_length_conflict) {
  rig r;
  const auto event = r.event({1, 1});
  auto shorter = event;
  shorter[0].payload.resize(1000);
  r.send(event + datagrams{shorter[0]});
  expect(r, 0, 1);
  finish(r, 1);
}

TEST_F(repeated_datagrams, of_another_event_count_each_fragment_once) {
  rig r;
  const auto event = r.event({1, 1});
  r.send(event + another(event) + another(event));
  expect(r, 0, 3);
  EXPECT_EQ(r.counters.duplicate_chunks, 0U);
  r.send(event);
  expect(r, 3, 3);
  finish(r, 1);
}

TEST_F(repeated_datagrams, with_other_bytes_are_named_once_a_spill) {
  rig r;
  for (const std::uint32_t spill : {1U, 2U}) {
    for (const std::uint32_t number : {1U, 2U, 3U}) r.send(r.event({spill, number}));
  }
  for (const event_key key : {event_key{1, 2}, {1, 3}, {2, 3}, {1, 1}})
    r.send(another(r.event(key)));
  EXPECT_EQ(r.builder.fetch_conflicts(),
            (std::vector<event_conflict>{{{1, 2}, 0b1}, {{2, 3}, 0b1}}));
  r.send(another(r.event({2, 1})));
  EXPECT_TRUE(r.builder.fetch_conflicts().empty());
  expect(r, 0, 15);
  finish(r, 6);
}

TEST_F(repeated_datagrams, of_two_senders_at_once_conflict_before_and_after_the_end) {
  rig r;
  for (const std::uint32_t number : {1U, 3U}) { // chunk by chunk
    const auto one = r.event({1, number});
    const auto other = another(one);
    for (std::size_t d = 0; d < one.size(); ++d) r.send({one[d], other[d]});
  }
  EXPECT_EQ(r.counters.fragments_malformed[malformed::conflicting_chunks], 6U);
  EXPECT_EQ(r.counters.events_incomplete, 2U);
  EXPECT_EQ(r.builder.fetch_conflicts(), std::vector{(event_conflict{{1, 1}, 0b111, true})});
  expect(r, 0, 0);
  for (const std::uint32_t number : {2U, 4U}) // event by event
    r.send(r.event({1, number}) + another(r.event({1, number})));
  expect(r, 0, 6);
  EXPECT_TRUE(r.builder.fetch_conflicts().empty()) << "one was named";
  finish(r, 2);
}

TEST_F(repeated_datagrams, are_compared_with_an_event_that_was_parked) {
  rig r;
  auto late = r.event({1, 2});
  const auto trailer = late.back();
  late.pop_back();
  const auto chunk = late.back();
  late.pop_back();
  r.send(r.event({1, 1}) + late);
  r.pass(5ms);
  r.close_batch();
  r.send({chunk, trailer});
  ASSERT_EQ(r.counters.parked, 1U);
  r.send(r.event({1, 2}));
  expect(r, 3, 0);
  r.send(another(r.event({1, 2})));
  expect(r, 3, 3);
  finish(r, 2);
}

TEST_F(repeated_datagrams, are_compared_with_an_event_that_came_as_a_record) {
  rig r;
  send_record(r, {1, 1});
  r.send(r.event({1, 1}));
  expect(r, 3, 0);
  r.send(another(r.event({1, 1})));
  expect(r, 3, 3);
  finish(r, 1);
}

TEST_F(repeated_datagrams, are_compared_whatever_records_of_old_spills_came_between) {
  rig r;
  for (const std::uint32_t spill : {10U, 11U}) r.send(r.event({spill, 1}));
  for (const std::uint32_t spill : {3U, 4U}) send_record(r, {spill, 1});
  EXPECT_EQ(r.counters.older_admitted, 2U);
  r.send(another(r.event({10, 1})) + another(r.event({11, 1})));
  expect(r, 0, 6);
  finish(r, 4);
}

TEST_F(repeated_datagrams, of_an_event_without_room_are_duplicates) {
  rig_options o;
  o.batches = 1;
  o.batch_events = 1;
  o.parked = 0;
  rig r(o);
  r.pool.hold(true);
  r.send(r.event({1, 1}));
  r.pool.stop(true);
  r.send(r.event({1, 2}) + another(r.event({1, 2})));
  EXPECT_EQ(r.outcomes.events_shed[shed::no_frame], 1U);
  expect(r, 3, 0);
  r.pool.stop(false);
  r.pool.hold(false);
  finish(r, 1);
}

TEST_F(repeated_datagrams, of_an_open_event_without_room_are_compared) {
  rig_options o;
  o.batches = 1;
  o.batch_events = 1;
  o.parked = 0;
  rig r(o);
  r.pool.hold(true);
  r.send(r.event({1, 1}));
  const auto event = r.event({1, 2});
  r.send({event[0], event[0], event[1]});
  r.send(flipped(event, 1, 7)[1]);
  r.pass(1500ms);
  EXPECT_EQ(r.counters.duplicate_chunks, 1U);
  EXPECT_EQ(r.counters.fragments_malformed[malformed::conflicting_chunks], 1U);
  r.pool.hold(false);
  finish(r, 1);
}

TEST_F(repeated_datagrams, of_events_that_are_forgotten_are_duplicates) {
  rig_options o;
  o.remembered_chunks_of = 8;
  rig r(o);
  for (std::uint32_t n = 1; n <= 9; ++n) r.send(r.event({1, n}));
  r.send(another(r.event({1, 1})));
  expect(r, 3, 0);
  r.send(another(r.event({1, 2})));
  expect(r, 3, 3);
  finish(r, 9);
}

/// The ports of a receiver are read in turn: what came at one is before or behind what came at
/// another.
TEST_F(repeated_datagrams, conflict_in_whatever_order_they_come) {
  for (std::size_t changed = 0; changed <= last_chunk; ++changed) {
    std::vector<std::size_t> order{0, 1, 2, 3};
    do {
      rig r;
      const auto event = r.event({1, 1});
      const auto other = flipped(event, changed, event[changed].payload.size() - 10);
      datagrams again;
      for (const auto d : order) again.push_back(other[d]);
      r.send(event + again);
      r.pass(100ms);
      expect(r, 1, 1);
      EXPECT_EQ(r.builder.fetch_conflicts(), std::vector{(event_conflict{{1, 1}, 0b1})});
      finish(r, 1);
    } while (std::ranges::next_permutation(order).found);
  }
}

TEST_F(repeated_datagrams, conflict_with_a_trailer_alone_in_either_order) {
  for (const bool trailer_first : {true, false}) {
    rig r;
    const auto event = r.event({1, 1});
    auto again = datagrams{event[last_chunk], event[last_chunk + 1]};
    again.front().payload.back() ^= std::byte{1};
    if (trailer_first) std::swap(again[0], again[1]);
    r.send(event + again);
    r.pass(100ms);
    expect(r, 0, 1);
    finish(r, 1);
  }
}

/// A chunk that does not name its spill goes where its siblings went. Here they were lost, and it
/// goes to the fragment of the last spill.
TEST_F(repeated_datagrams, that_no_sibling_follows_accuse_nobody) {
  rig r;
  r.send(r.event({1, 1}) + datagrams{r.event({2, 1})[last_chunk]});
  r.pass(100ms);
  EXPECT_EQ(r.counters.duplicate_chunks, 1U);
  expect(r, 1, 0);
  finish(r, 1);
}

// Spills that are sent again when they are over.

constexpr std::uint32_t many_events = 30;

datagrams spill_of(const rig& r, std::uint32_t spill) {
  datagrams all;
  for (std::uint32_t n = 1; n <= many_events; ++n) all = all + r.event({spill, n});
  return all + r.ends_of_spill(spill, many_events);
}

TEST_F(repeated_datagrams, of_an_old_spill_are_compared_by_event) {
  rig r;
  const std::vector<std::uint32_t> spills{510, 511, 0, 1, 2};
  for (const auto spill : spills) r.send(spill_of(r, spill));
  r.pass(1s);
  const std::size_t changed = 16 * 12 + second_fragment; // of event 17, its time stamp
  for (const auto spill : spills) {
    r.send(flipped(spill_of(r, spill), changed, 4 + 7));
    r.pass(1s);
  }
  const auto taken = spills.size() * many_events;
  expect(r, 3 * (taken - spills.size()), 3 * spills.size());
  std::vector<event_conflict> named;
  for (const auto spill : spills) named.push_back({{spill, 17}});
  EXPECT_EQ(r.builder.fetch_conflicts(), named);
  finish(r, taken);
}

TEST_F(repeated_datagrams, of_an_old_spill_are_duplicates_if_either_event_is_not_whole) {
  for (const bool first : {true, false}) {
    rig_options o;
    o.incomplete = incomplete_events::forward;
    rig r(o);
    const auto whole = spill_of(r, 1);
    auto part = whole;
    part.erase(part.begin(), part.begin() + second_fragment); // the first one of event 1
    r.send(first ? part : whole);
    r.pass(1500ms);
    for (const std::uint32_t spill : {2U, 3U, 4U}) r.send(spill_of(r, spill));
    r.pass(1s);
    r.send(first ? whole : part);
    r.pass(1500ms);
    expect(r, 3 * many_events - (first ? 0 : 1), 0);
    EXPECT_TRUE(r.builder.fetch_conflicts().empty());
    finish(r, 4 * many_events);
  }
}

TEST_F(repeated_datagrams, of_an_old_spill_are_duplicates_if_they_have_no_room) {
  rig r;
  for (const std::uint32_t spill : {1U, 2U, 3U, 4U}) r.send(spill_of(r, spill));
  r.pass(1s);
  r.pool.stop(true);
  for (std::uint32_t n = 1; n <= r.options.batch_events; ++n)
    r.send(r.event({4, many_events + n})); // they fill the batch
  r.send(spill_of(r, 1));
  expect(r, 3 * many_events, 0);
  r.pool.stop(false);
  finish(r, 4 * many_events + r.options.batch_events);
}

} // namespace
} // namespace l3::test
