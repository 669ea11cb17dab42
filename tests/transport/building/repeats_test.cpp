// SPDX-License-Identifier: Apache-2.0
// Events whose numbers come again. Chunks of an event that has ended are late, and its fragments
// duplicates. A record is a duplicate if it has the same bytes, and is refused if it has others.
#include <gtest/gtest.h>
#include <vector>

#include "tests/transport/building/records.hpp"
#include "tests/transport/building/rig.hpp"
#include "transport/building/known_events.hpp"

namespace l3::test {
namespace {

using namespace std::chrono_literals;
using datagrams = std::vector<wire_datagram>;
using outcome = event_builder::stream_outcome;

constexpr std::size_t first_fragment = 16 + 3 * 8; // in the body of a record with three
constexpr std::size_t first_board = first_fragment + 4;
constexpr std::size_t second_board = first_board + 2072;

class repeats : public testing::Test {
protected:
  repeats() : stream(max_event_body(r.options.crates)) { r.builder.attach(stream); }
  ~repeats() override { r.builder.detach(stream); }

  event_builder::stream_result send(event_key key, const bytes& body) {
    return r.send(stream, key.spill, body);
  }
  [[nodiscard]] bytes body_of(event_key key) const {
    return event_record_body(key, r.options.crates);
  }
  void expect_duplicate(event_key key, const bytes& body) {
    const auto before = r.counters.fragments_duplicate.get();
    const auto taken = send(key, body);
    EXPECT_EQ(taken.outcome, outcome::counted);
    EXPECT_TRUE(taken.known);
    EXPECT_EQ(r.counters.fragments_duplicate, before + 3);
  }
  void expect_conflict(event_key key, const bytes& body) {
    const auto before = r.counters.fragments_seen.get();
    const auto taken = send(key, body);
    EXPECT_EQ(taken.outcome, outcome::refused);
    EXPECT_EQ(taken.reason, refused::stream_conflict);
    EXPECT_EQ(taken.event, key);
    EXPECT_EQ(r.counters.fragments_seen, before);
  }
  static bytes flipped(bytes body, std::size_t byte) {
    body[byte] ^= std::byte{1};
    return body;
  }
  /// What was admitted came out as it came first.
  void finish(std::size_t events) {
    r.drain();
    EXPECT_EQ(r.pool.received.size(), events);
    r.expect_balance();
    r.expect_bytes();
  }

  rig r;
  stream_landing stream;
};

TEST_F(repeats, with_another_byte_at_the_border_of_a_board_are_refused) {
  const auto body = body_of({1, 1});
  EXPECT_FALSE(send({1, 1}, body).known);
  expect_conflict({1, 1}, flipped(body, first_board + 7));   // time stamp
  expect_conflict({1, 1}, flipped(body, first_board + 13));  // first sample
  expect_conflict({1, 1}, flipped(body, second_board + 15)); // second sample
  expect_conflict({1, 1}, flipped(body, second_board - 13)); // last sample
  expect_conflict({1, 1}, flipped(body, second_board - 1));  // footer
  expect_duplicate({1, 1}, body);
  finish(1);
}

/// The limit of four bytes an event, as docs/formats.md says.
TEST_F(repeats, with_another_byte_between_the_borders_look_the_same) {
  const auto body = body_of({1, 1});
  send({1, 1}, body);
  expect_duplicate({1, 1}, flipped(body, first_board + 1000));
  finish(1);
}

TEST_F(repeats, with_other_or_fewer_fragments_are_refused_and_in_another_order_are_known) {
  send({1, 1}, body_of({1, 1}));
  auto other = event_fragments({1, 1}, r.options.crates);
  std::swap(other[0].second, other[1].second); // good fragments, of other crates
  expect_conflict({1, 1}, event_record_body(1, other));
  auto fewer = event_fragments({1, 1}, r.options.crates);
  fewer.pop_back();
  expect_conflict({1, 1}, event_record_body(1, fewer));
  auto turned = event_fragments({1, 1}, r.options.crates);
  std::swap(turned[0], turned[2]);
  expect_duplicate({1, 1}, event_record_body(1, turned));
  finish(1);
}

TEST_F(repeats, of_datagrams_compare_equal_over_a_stream) {
  auto late = r.event({1, 2});
  const auto last = late.back(); // of two boards, in short chunks: complete without its trailer
  late.pop_back();
  const auto chunk = late.back();
  late.pop_back();
  r.send(r.event({1, 1}) + late);
  r.pass(5ms);
  r.close_batch();
  r.send({chunk, last});
  ASSERT_EQ(r.counters.parked, 1U);
  for (const event_key key : {event_key{1, 1}, {1, 2}}) {
    expect_duplicate(key, body_of(key));
    expect_conflict(key, flipped(body_of(key), first_board + 7));
  }
  finish(2);
}

TEST_F(repeats, of_an_event_of_which_nothing_was_taken_are_not_known) {
  auto fragments = event_fragments({1, 1}, r.options.crates);
  fragments.pop_back();
  EXPECT_FALSE(send({1, 1}, event_record_body(1, fragments)).known);
  EXPECT_FALSE(send({1, 1}, event_record_body(1, fragments)).known);
  EXPECT_EQ(r.counters.fragments_duplicate, 2U);
  finish(0);
}

TEST(repeats_of_a_part, over_a_stream_are_known_only_if_they_bring_nothing_new) {
  rig_options o;
  o.incomplete = incomplete_events::forward;
  rig r(o);
  stream_landing stream(max_event_body(r.options.crates));
  r.builder.attach(stream);
  for (const std::uint32_t n : {1U, 2U, 3U}) r.send(r.fragment({1, n}, 0));
  r.pass(1500ms);
  ASSERT_EQ(r.counters.events_admitted, 3U);
  const auto take = [&](std::uint32_t number, std::size_t first, std::size_t behind) {
    const auto all = event_fragments({1, number}, r.options.crates);
    return r.send(stream, 1,
                  event_record_body(number, fragment_list(&all[first], &all[0] + behind)));
  };
  EXPECT_EQ(take(1, 0, 3).reason, refused::stream_conflict);
  EXPECT_EQ(take(2, 1, 2).reason, refused::stream_conflict) << "the store has another fragment";
  const auto same = take(3, 0, 1);
  EXPECT_EQ(same.outcome, outcome::counted);
  EXPECT_TRUE(same.known);
  EXPECT_EQ(r.counters.fragments_duplicate, 1U);
  r.builder.detach(stream);
  r.drain();
  r.expect_balance();
}

TEST_F(repeats, from_long_ago_are_refused_until_their_spill_number_comes_around) {
  const auto other = flipped(body_of({0, 1}), first_board + 7);
  for (std::uint32_t s = 0; s < 512; ++s) send({s, 1}, body_of({s, 1}));
  expect_conflict({510, 1}, flipped(body_of({510, 1}), first_board + 7));
  EXPECT_EQ(send({0, 1}, other).outcome, outcome::counted);
  expect_conflict({0, 1}, body_of({0, 1}));
  EXPECT_EQ(r.counters.events_admitted, 513U);
  r.drain();
}

TEST_F(repeats, of_an_event_set_aside_are_compared) {
  send({1, 1}, body_of({1, 1}));
  const auto body = flipped(body_of({1, 1}), first_board + 7);
  EXPECT_TRUE(r.builder.reserve(stream, body.size(), r.now));
  std::memcpy(r.builder.enter(stream), body.data(), body.size());
  r.builder.leave(stream, body.size());
  r.pass(5ms);
  r.close_batch(); // the record moves
  ASSERT_EQ(r.pool.submitted(), 1U);
  EXPECT_EQ(r.builder.take_event(stream, 1, r.now).reason, refused::stream_conflict);
  finish(1);
}

/// An event of three fragments, each of three chunks.
TEST_F(repeats, of_datagrams_are_late_chunks_and_each_fragment_once_a_duplicate) {
  const auto event = r.event({1, 1});
  r.send(event + event + event);
  EXPECT_EQ(r.counters.fragments_duplicate, 3U);
  EXPECT_EQ(r.counters.late_chunks, 2 * 9U);
  EXPECT_EQ(r.counters.duplicate_chunks, 0U);
  send({1, 2}, body_of({1, 2}));
  r.send(r.event({1, 2}));
  EXPECT_EQ(r.counters.fragments_duplicate, 6U) << "of an event that came as a record, too";
  finish(2);
}

/// Two senders with the same numbers: chunk by chunk neither fragment is taken, event by event the
/// first one stays.
TEST_F(repeats, of_datagrams_with_other_bytes_do_not_spoil_what_was_taken) {
  const auto one = r.event({1, 1});
  auto other = one;
  for (auto& d : other)
    if (!d.payload.empty()) d.payload.back() ^= std::byte{1};
  for (std::size_t d = 0; d < one.size(); ++d) r.send({one[d], other[d]});
  EXPECT_EQ(r.counters.fragments_malformed[malformed::conflicting_chunks], 3U);
  EXPECT_EQ(r.counters.events_incomplete, 1U);
  auto second = r.event({1, 2});
  r.send(second);
  for (auto& d : second)
    if (!d.payload.empty()) d.payload.back() ^= std::byte{1};
  r.send(second);
  EXPECT_EQ(r.counters.fragments_duplicate, 3U);
  finish(1);
}

TEST(repeats_without_room, of_an_open_event_are_compared_by_their_length) {
  rig_options o;
  o.batches = 1;
  o.batch_events = 1;
  o.parked = 0;
  rig r(o);
  r.pool.hold(true);
  r.send(r.event({1, 1}));
  const auto event = r.event({1, 2});
  r.send({event[0], event[0], event[1]});
  auto shorter = event[1];
  shorter.payload.resize(1000);
  r.send(shorter);
  r.pass(1500ms);
  EXPECT_EQ(r.counters.duplicate_chunks, 1U);
  EXPECT_EQ(r.counters.fragments_malformed[malformed::conflicting_chunks], 1U);
  r.pool.hold(false);
  r.drain();
  r.expect_balance();
}

// The events that were taken before: each by its numbers, with a mark of its bytes.

constexpr std::uint32_t most = 5000; // five pages a spill
constexpr std::size_t page = 1024;
constexpr std::size_t plenty = 512 * 5 * page;

TEST(known_events, knows_what_was_added_and_its_neighbours_not) {
  known_events known(most, plenty);
  for (const event_key key : {event_key{0, 1}, {0, most}, {1, 64}, {511, 1}, {511, most}}) {
    EXPECT_FALSE(known.has(key));
    known.add(key, 7 + key.number);
    EXPECT_TRUE(known.has(key));
    EXPECT_FALSE(known.has_another(key, 7 + key.number));
    EXPECT_TRUE(known.has_another(key, 8 + key.number));
    EXPECT_FALSE(known.has_another({key.spill, 2}, 1)) << "it does not have it";
    EXPECT_FALSE(known.has({key.spill, 2}));
    EXPECT_FALSE(known.has({256, key.number}));
  }
}

TEST(known_events, forgets_one_spill) {
  known_events known(most, plenty);
  for (const std::uint32_t spill : {4U, 5U, 6U}) {
    known.add({spill, 1}, 1);
    known.add({spill, most}, 1);
  }
  known.forget(5);
  for (const std::uint32_t number : {1U, most}) {
    EXPECT_TRUE(known.has({4, number}));
    EXPECT_FALSE(known.has({5, number}));
    EXPECT_TRUE(known.has({6, number}));
  }
}

TEST(known_events, forgets_the_oldest_marks_for_want_of_room_and_no_event) {
  known_events known(most, 3 * page);
  const auto number_in = [](std::uint32_t range) { return range * 1024 + 9; };
  for (std::uint32_t range = 0; range < 4; ++range) known.add({1, number_in(range)}, 50);
  EXPECT_TRUE(known.has({1, number_in(0)}));
  EXPECT_FALSE(known.has_another({1, number_in(0)}, 51)) << "its page went to the fourth range";
  for (std::uint32_t range = 1; range < 4; ++range)
    EXPECT_TRUE(known.has_another({1, number_in(range)}, 51)) << range;
  known.add({1, number_in(0) + 1}, 60); // the range gets a page again: that of the second
  EXPECT_TRUE(known.has_another({1, number_in(0) + 1}, 61));
  EXPECT_FALSE(known.has_another({1, number_in(0)}, 51)) << "what the page held is not its mark";
  EXPECT_FALSE(known.has_another({1, number_in(1)}, 51));
  EXPECT_TRUE(known.has_another({1, number_in(2)}, 51));
}

TEST(known_events, gives_a_spill_that_comes_around_pages_of_its_own) {
  known_events known(most, 2 * page);
  known.add({1, 1}, 50);
  known.add({3, 1}, 55);
  known.forget(1);
  known.add({1, 1}, 60); // takes the first page anew, so that the second is the older one
  known.add({2, 1}, 70);
  EXPECT_FALSE(known.has_another({3, 1}, 56));
  EXPECT_TRUE(known.has_another({1, 1}, 61));
  EXPECT_FALSE(known.has_another({1, 1}, 60));
  EXPECT_TRUE(known.has_another({2, 1}, 71));
}

std::uint32_t mark_of(const std::vector<std::uint64_t>& by_crate) {
  event_digest digest;
  for (std::uint32_t c = 0; c < by_crate.size(); ++c) digest.add(c, by_crate[c]);
  return digest.mark();
}

TEST(event_digest, depends_on_each_fragment_and_its_crate) {
  const auto mark = mark_of({10, 20, 30});
  EXPECT_EQ(mark_of({10, 20, 30}), mark);
  EXPECT_NE(mark_of({20, 10, 30}), mark) << "two crates' fragments change places";
  EXPECT_NE(mark_of({10, 20, 31}), mark);
  EXPECT_NE(mark_of({10, 20}), mark);
  EXPECT_NE(mark_of({10, 20, 30, 0}), mark);
}

} // namespace
} // namespace l3::test
