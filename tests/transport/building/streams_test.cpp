// SPDX-License-Identifier: Apache-2.0
// Event records in the builder: whole events, read into the batch or set aside, each once, each
// safe with its batch. A record whose event was taken before is a duplicate if it has the same
// bytes, and is refused if it has others.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

#include "tests/transport/building/records.hpp"
#include "tests/transport/building/rig.hpp"
#include "transport/building/known_events.hpp"

namespace l3::test {
namespace {

using namespace std::chrono_literals;
using outcome = event_builder::stream_outcome;

std::vector<wire_datagram> without_a_chunk(std::vector<wire_datagram> event) {
  event.erase(event.begin());
  return event;
}

class streams : public testing::Test {
protected:
  explicit streams(rig_options o = {}) : r(std::move(o)), stream(max_event_body(r.options.crates)) {
    r.builder.attach(stream);
  }
  ~streams() override { r.builder.detach(stream); }

  bool begin(const bytes& body) { return r.builder.reserve(stream, body.size(), r.now); }
  void write(const bytes& body, std::size_t from, std::size_t upto) {
    std::byte* to = r.builder.enter(stream);
    std::memcpy(to + from, body.data() + from, upto - from);
    r.builder.leave(stream, upto);
  }
  event_builder::stream_result send(event_key key, const bytes& body) {
    return r.send(stream, key.spill, body);
  }
  event_builder::stream_result send(event_key key) {
    return send(key, event_record_body(key, r.options.crates));
  }

  rig r;
  stream_landing stream;
};

TEST_F(streams, a_record_half_read_when_its_batch_closes_is_set_aside) {
  r.send(r.event({1, 50}));
  const auto body = event_record_body({1, 1}, r.options.crates);
  ASSERT_TRUE(begin(body));
  write(body, 0, 5000);
  r.pass(5ms);
  EXPECT_EQ(r.pool.submitted(), 0U) << "the rest may come in time";
  r.close_batch();
  EXPECT_EQ(r.pool.submitted(), 1U) << "the connection holds no frame";
  write(body, 5000, body.size());
  EXPECT_EQ(r.builder.take_event(stream, 1, r.now).outcome, outcome::counted);
  r.end(2);
}

TEST_F(streams, a_batch_that_closes_during_a_read_waits_for_the_reader) {
  r.send(r.event({1, 50}));
  const auto body = event_record_body({1, 1}, r.options.crates);
  ASSERT_TRUE(begin(body));
  std::byte* to = r.builder.enter(stream);
  r.pass(5ms);
  r.close_batch();
  EXPECT_EQ(r.pool.submitted(), 0U);
  std::memcpy(to, body.data(), 3000);
  r.builder.leave(stream, 3000);
  r.pass(0ns);
  EXPECT_EQ(r.pool.submitted(), 1U);
  for (std::uint32_t n = 51; n <= 62; ++n) r.send(r.event({1, n})); // its memory is used again
  write(body, 3000, body.size());
  EXPECT_EQ(r.builder.take_event(stream, 1, r.now).outcome, outcome::counted);
  r.end();
}

TEST_F(streams, incomplete_and_malformed_events_are_counted_and_done_with) {
  auto fragments = event_fragments({1, 1}, r.options.crates);
  fragments[1].second[4] = std::byte{0}; // not a board header
  EXPECT_EQ(send({1, 1}, event_record_body(1, fragments)).outcome, outcome::counted);
  fragments = event_fragments({1, 2}, r.options.crates);
  fragments.pop_back();
  EXPECT_EQ(send({1, 2}, event_record_body(2, fragments)).outcome, outcome::counted);
  EXPECT_EQ(send({1, 3}, event_record_body(3, {})).outcome, outcome::counted);
  EXPECT_EQ(r.counters.fragments_malformed[malformed::header_tag], 1U);
  EXPECT_EQ(r.counters.fragments_incomplete, 4U);
  EXPECT_EQ(r.counters.events_incomplete, 3U);
  EXPECT_EQ(send({1, 2}, event_record_body(2, fragments)).outcome, outcome::counted);
  EXPECT_EQ(r.counters.fragments_duplicate, 2U);
  r.end(0);
}

TEST_F(streams, a_record_replaces_what_stray_datagrams_have_begun) {
  send({1, 1});
  const auto f = r.fragment({1, 2}, 0);
  const auto g = r.fragment({1, 2}, 1);
  r.send({f[0], f[0], g[1], f[1]});
  EXPECT_EQ(r.builder.open_fragments(), 2U);
  EXPECT_EQ(send({1, 2}).outcome, outcome::counted);
  EXPECT_EQ(r.builder.open_fragments(), 0U);
  EXPECT_EQ(r.builder.open_events(), 0U);
  EXPECT_EQ(r.counters.fragments_duplicate, 3U) << "one of the two came twice";
  EXPECT_EQ(r.counters.events_admitted, 2U);
  r.send(f[0]);
  EXPECT_EQ(r.counters.fragments_duplicate, 4U);
  EXPECT_EQ(send({1, 2}).outcome, outcome::counted);
  EXPECT_EQ(r.counters.events_admitted, 2U) << "the record again is a duplicate";
  r.end(2);
}

TEST_F(streams, a_whole_record_of_an_event_that_was_given_up_is_admitted) {
  r.send(r.event({1, 1}));
  r.send(r.fragment({1, 2}, 0));
  r.pass(1500ms);
  EXPECT_EQ(r.counters.events_incomplete, 1U);
  auto fragments = event_fragments({1, 2}, r.options.crates);
  fragments.pop_back();
  send({1, 2}, event_record_body(2, fragments));
  EXPECT_EQ(r.counters.events_incomplete, 1U) << "no better than what was given up";
  send({1, 2});
  send({1, 2});
  r.end(2);
  EXPECT_EQ(r.counters.events_admitted, 2U);
  EXPECT_EQ(r.counters.fragments_duplicate, 2 + 3U);
}

TEST_F(streams, the_summary_counts_an_event_once_though_it_was_shed_before) {
  r.pool.stop(true);
  r.send(r.event({1, 1}));
  r.send(without_a_chunk(r.event({1, 2})));
  r.pass(1500ms);
  r.pool.stop(false);
  EXPECT_EQ(r.outcomes.events_shed[shed::no_frame], 1U);
  EXPECT_EQ(r.counters.events_incomplete, 1U);
  send({1, 1});
  send({1, 2});
  r.end(2);
  ASSERT_FALSE(r.summaries.empty());
  EXPECT_EQ(r.summaries.back(), (spill_summary{1, 2, 0, std::nullopt}));
}

TEST_F(streams, the_end_of_the_last_stream_ends_the_spill) {
  stream_landing other(max_event_body(r.options.crates));
  r.builder.attach(other);
  r.builder.begin_of_spill(stream, 1, r.now);
  r.builder.begin_of_spill(other, 1, r.now);
  send({1, 1});
  r.builder.end_of_spill(stream, 1, 5, 1, r.now);
  r.pass(2s);
  EXPECT_TRUE(r.summaries.empty()) << "the other one is at work";
  r.builder.end_of_spill(other, 1, 3, 4, r.now);
  ASSERT_EQ(r.summaries.size(), 1U);
  EXPECT_EQ(r.summaries[0], (spill_summary{1, 1, 0, 5}));
  r.builder.detach(other);
}

/// The number of events sent, by the summary, when all streams have ended the spill.
class stream_ends : public streams {
protected:
  stream_ends() { r.builder.begin_of_spill(stream, 1, r.now); }

  void end(stream_landing& s, std::uint64_t sequence, std::uint32_t events) {
    r.builder.end_of_spill(s, 1, sequence, events, r.now);
  }
  std::uint64_t sent() {
    r.pass(2s);
    return r.summaries.at(r.summaries.size() - 1).expected.value_or(0);
  }

  stream_landing other{max_event_body(r.options.crates)};
};

TEST_F(stream_ends, of_two_senders_add_up_though_they_are_the_same) {
  r.builder.attach(other, 1);
  r.builder.begin_of_spill(other, 1, r.now);
  end(stream, 53, 50);
  end(other, 53, 50);
  EXPECT_EQ(sent(), 100U);
  r.builder.detach(other);
}

TEST_F(stream_ends, and_those_of_datagrams_add_up_if_each_alone_says_too_little) {
  for (std::uint32_t n = 1; n <= 3; ++n) send({1, n});
  r.send(r.event({1, 4}));
  r.send(r.event({1, 5}));
  end(stream, 53, 3);
  r.send(r.ends_of_spill(1, 2));
  EXPECT_EQ(sent(), 5U);
}

TEST_F(stream_ends, that_come_again_count_once_whatever_came_between) {
  r.builder.attach(other, 1);
  r.builder.begin_of_spill(other, 1, r.now);
  end(stream, 53, 50);
  end(other, 80, 70);
  r.builder.detach(stream);
  r.builder.attach(stream, 54);
  end(stream, 53, 50);
  EXPECT_EQ(sent(), 120U);
  end(stream, 55, 3); // the same sender takes the spill up again
  EXPECT_EQ(sent(), 123U);
  r.builder.detach(other);
}

// Events that come again.

constexpr std::size_t first_fragment = 16 + 3 * 8; // in the body of a record with three
constexpr std::size_t first_board = first_fragment + 4;

class repeats : public streams {
protected:
  using streams::streams;

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
};

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
  r.end(1);
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
  r.end(2);
}

class repeats_of_a_part : public streams {
protected:
  repeats_of_a_part() : streams({.incomplete = incomplete_events::forward}) {}
};

TEST_F(repeats_of_a_part, are_known_only_if_they_bring_nothing_new) {
  for (const std::uint32_t n : {1U, 2U, 3U}) r.send(r.fragment({1, n}, 0));
  r.pass(1500ms);
  ASSERT_EQ(r.counters.events_admitted, 3U);
  const auto take = [&](std::uint32_t number, std::size_t first, std::size_t behind) {
    const auto all = event_fragments({1, number}, r.options.crates);
    return send({1, number},
                event_record_body(number, fragment_list(&all[first], &all[0] + behind)));
  };
  EXPECT_EQ(take(1, 0, 3).reason, refused::stream_conflict);
  EXPECT_EQ(take(2, 1, 2).reason, refused::stream_conflict) << "the store has another fragment";
  const auto same = take(3, 0, 1);
  EXPECT_EQ(same.outcome, outcome::counted);
  EXPECT_TRUE(same.known);
  EXPECT_EQ(r.counters.fragments_duplicate, 1U);
  r.end();
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

TEST(known_events, agree_with_a_map) {
  known_events known;
  std::map<event_key, std::uint32_t> marks;
  std::mt19937 random(7);
  const auto any = [&](std::uint32_t below) {
    return static_cast<std::uint32_t>(random() % below);
  };
  for (int i = 0; i < 20'000; ++i) {
    const event_key key{any(3) == 0 ? 511 : any(4), 1 + any(5000)};
    const auto found = marks.find(key);
    ASSERT_EQ(known.mark(key), found == marks.end() ? 0 : found->second);
    if (any(500) == 0) {
      known.forget(key.spill);
      std::erase_if(marks, [&](const auto& m) { return m.first.spill == key.spill; });
    } else {
      known.add(key, marks[key] = 1 + any(1000));
    }
  }
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
