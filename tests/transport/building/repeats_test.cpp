// SPDX-License-Identifier: Apache-2.0
// Events whose numbers come again: with the same bytes they are duplicates, with other bytes they
// are other events, which are refused, counted by themselves and named.
#include <gtest/gtest.h>

#include "tests/transport/building/records.hpp"
#include "tests/transport/building/rig.hpp"

namespace l3::test {
namespace {

using namespace std::chrono_literals;

using outcome = event_builder::stream_outcome;

constexpr std::size_t first_fragment = 16 + 3 * 8; // in the body of a record with three
constexpr std::size_t first_board = first_fragment + 4;
constexpr std::size_t second_board = first_board + 2072;

class repeats : public testing::Test {
protected:
  repeats() : stream(max_event_body(r.options.crates)) { r.builder.attach(stream); }
  ~repeats() override { r.builder.detach(stream); }

  event_builder::stream_result send(event_key key, const bytes& body) {
    EXPECT_TRUE(r.builder.reserve(stream, body.size(), r.now));
    std::memcpy(r.builder.enter(stream), body.data(), body.size());
    r.builder.leave(stream, body.size());
    return r.builder.take_event(stream, key.spill, r.now);
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
    const auto before = r.counters.fragments_conflicting.get();
    const auto taken = send(key, body);
    EXPECT_EQ(taken.outcome, outcome::refused);
    EXPECT_EQ(taken.reason, refused::stream_conflict);
    EXPECT_EQ(taken.event, key);
    EXPECT_EQ(r.counters.fragments_conflicting, before + 3);
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

TEST_F(repeats, with_the_same_bytes_are_known) {
  EXPECT_FALSE(send({1, 1}, body_of({1, 1})).known);
  expect_duplicate({1, 1}, body_of({1, 1}));
  EXPECT_EQ(r.counters.fragments_conflicting, 0U);
  EXPECT_TRUE(r.builder.fetch_conflicts().empty());
  finish(1);
}

TEST_F(repeats, with_another_byte_at_the_border_of_a_board_are_refused) {
  const auto body = body_of({1, 1});
  send({1, 1}, body);
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

TEST_F(repeats, of_another_recording_are_refused) {
  auto other = event_fragments({1, 1}, r.options.crates);
  std::swap(other[0].second, other[1].second); // good fragments, of other crates
  send({1, 1}, body_of({1, 1}));
  expect_conflict({1, 1}, event_record_body(1, other));
  finish(1);
}

TEST_F(repeats, with_fewer_fragments_are_refused) {
  send({1, 1}, body_of({1, 1}));
  auto fragments = event_fragments({1, 1}, r.options.crates);
  fragments.pop_back();
  const auto taken = send({1, 1}, event_record_body(1, fragments));
  EXPECT_EQ(taken.reason, refused::stream_conflict);
  EXPECT_EQ(r.counters.fragments_conflicting, 2U);
  finish(1);
}

TEST_F(repeats, may_have_their_fragments_in_another_order) {
  send({1, 1}, body_of({1, 1}));
  auto fragments = event_fragments({1, 1}, r.options.crates);
  std::swap(fragments[0], fragments[2]);
  expect_duplicate({1, 1}, event_record_body(1, fragments));
  finish(1);
}

TEST_F(repeats, of_datagrams_compare_equal_over_a_stream) {
  r.send(r.event({1, 1}));
  r.send(r.event({1, 2}));
  ASSERT_EQ(r.counters.events_admitted, 2U);
  expect_duplicate({1, 1}, body_of({1, 1}));
  expect_conflict({1, 2}, flipped(body_of({1, 2}), first_board + 7));
  finish(2);
}

TEST_F(repeats, of_an_event_that_datagrams_have_begun_are_compared_with_these) {
  send({1, 1}, body_of({1, 1})); // proves the spill
  auto datagrams = r.fragment({1, 2}, 0);
  const auto other = r.fragment({1, 2}, 1);
  datagrams.insert(datagrams.end(), other.begin(), other.end());
  datagrams[0].payload[first_board - first_fragment + 7] ^= std::byte{1};
  r.send(datagrams);
  EXPECT_EQ(send({1, 2}, body_of({1, 2})).outcome, outcome::counted);
  EXPECT_EQ(r.counters.fragments_conflicting, 1U);
  EXPECT_EQ(r.counters.fragments_duplicate, 1U);
  EXPECT_EQ(r.builder.fetch_conflicts(), std::vector{(event_conflict{{1, 2}, 0b1})});
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
    const auto body = event_record_body(number, fragment_list(&all[first], &all[0] + behind));
    EXPECT_TRUE(r.builder.reserve(stream, body.size(), r.now));
    std::memcpy(r.builder.enter(stream), body.data(), body.size());
    r.builder.leave(stream, body.size());
    return r.builder.take_event(stream, 1, r.now);
  };
  const auto whole = take(1, 0, 3);
  EXPECT_EQ(whole.outcome, outcome::refused);
  EXPECT_EQ(whole.reason, refused::stream_conflict);
  EXPECT_EQ(take(2, 1, 2).reason, refused::stream_conflict) << "the store has another fragment";
  EXPECT_EQ(r.counters.fragments_conflicting, 4U);
  const auto same = take(3, 0, 1);
  EXPECT_EQ(same.outcome, outcome::counted);
  EXPECT_TRUE(same.known);
  EXPECT_EQ(r.counters.fragments_duplicate, 1U);
  r.builder.detach(stream);
  r.drain();
  r.expect_balance();
}

TEST_F(repeats, are_compared_also_when_their_event_was_parked) {
  r.send(r.event({1, 1}));
  auto late = r.event({1, 2});
  const auto last = late.back(); // of two boards, in short chunks: complete without its trailer
  late.pop_back();
  const auto chunk = late.back();
  late.pop_back();
  r.send(late);
  r.pass(std::chrono::milliseconds(5));
  r.close_batch();
  r.send({chunk, last});
  ASSERT_EQ(r.counters.parked, 1U);
  expect_duplicate({1, 2}, body_of({1, 2}));
  expect_conflict({1, 2}, flipped(body_of({1, 2}), second_board + 7));
  finish(2);
}

TEST_F(repeats, from_long_ago_are_refused_too) {
  for (const std::uint32_t spill : {510U, 511U, 0U, 1U, 2U}) send({spill, 1}, body_of({spill, 1}));
  expect_conflict({510, 1}, flipped(body_of({510, 1}), first_board + 7));
  expect_duplicate({510, 1}, body_of({510, 1}));
  finish(5);
}

TEST_F(repeats, of_a_spill_number_that_came_around_are_new) {
  const auto other = flipped(body_of({0, 1}), first_board + 7);
  for (std::uint32_t s = 0; s < 512; ++s) send({s, 1}, body_of({s, 1}));
  EXPECT_EQ(send({0, 1}, other).outcome, outcome::counted);
  expect_conflict({0, 1}, body_of({0, 1}));
  EXPECT_EQ(r.counters.events_admitted, 513U);
  r.drain();
}

TEST_F(repeats, with_other_bytes_are_named_once_a_spill) {
  for (const std::uint32_t spill : {1U, 2U}) {
    for (const std::uint32_t number : {1U, 2U, 3U}) send({spill, number}, body_of({spill, number}));
  }
  for (const event_key key : {event_key{1, 2}, {1, 3}, {1, 1}, {2, 3}})
    expect_conflict(key, flipped(body_of(key), first_board + 7));
  EXPECT_EQ(r.builder.fetch_conflicts(), (std::vector<event_conflict>{{{1, 2}}, {{2, 3}}}));
  expect_conflict({1, 1}, flipped(body_of({1, 1}), first_board + 7));
  EXPECT_TRUE(r.builder.fetch_conflicts().empty());
  finish(6);
}

TEST_F(repeats, of_an_event_set_aside_are_compared) {
  send({1, 1}, body_of({1, 1}));
  const auto body = flipped(body_of({1, 1}), first_board + 7);
  EXPECT_TRUE(r.builder.reserve(stream, body.size(), r.now));
  std::memcpy(r.builder.enter(stream), body.data(), body.size());
  r.builder.leave(stream, body.size());
  r.pass(std::chrono::milliseconds(5));
  r.close_batch(); // the record moves
  ASSERT_EQ(r.pool.submitted(), 1U);
  EXPECT_EQ(r.builder.take_event(stream, 1, r.now).reason, refused::stream_conflict);
  finish(1);
}

} // namespace
} // namespace l3::test
