// SPDX-License-Identifier: Apache-2.0
// Event records in the builder: whole events, read into the batch or set aside, each once, each
// safe with its batch.
#include <gtest/gtest.h>

#include "tests/transport/building/records.hpp"
#include "tests/transport/building/rig.hpp"
#include "transport/format/block.hpp"

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

TEST_F(streams, events_come_out_as_sent) {
  for (std::uint32_t n = 1; n <= 10; ++n) {
    const auto taken = send({2, n});
    EXPECT_EQ(taken.outcome, outcome::counted);
    EXPECT_EQ(taken.batch_serial, (n - 1) / 4 + 1) << "4 events a batch";
  }
  r.drain();
  EXPECT_EQ(r.pool.received.size(), 10U);
  EXPECT_EQ(r.counters.fragments_admitted, 30U);
  r.expect_balance();
  r.expect_bytes();
}

TEST_F(streams, duplicates_do_not_use_up_a_batch) {
  send({1, 1});
  for (int i = 0; i < 100; ++i) send({1, 1});
  EXPECT_EQ(r.pool.submitted(), 0U);
}

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
  r.drain();
  EXPECT_EQ(r.pool.received.size(), 2U);
  r.expect_bytes();
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
  EXPECT_EQ(r.pool.submitted(), 1U);
  for (std::uint32_t n = 51; n <= 62; ++n) r.send(r.event({1, n})); // its memory is used again
  write(body, 3000, body.size());
  EXPECT_EQ(r.builder.take_event(stream, 1, r.now).outcome, outcome::counted);
  r.drain();
  r.expect_bytes();
}

TEST_F(streams, without_a_frame_the_sender_waits_and_nothing_is_lost) {
  r.pool.hold(true);
  for (std::uint32_t n = 1; n <= 12; ++n)
    EXPECT_EQ(send({1, n}).outcome, outcome::counted); // 3 batches of 4
  const auto body = event_record_body({1, 13}, r.options.crates);
  EXPECT_FALSE(begin(body));
  r.pool.hold(false);
  ASSERT_TRUE(begin(body));
  write(body, 0, body.size());
  EXPECT_EQ(r.builder.take_event(stream, 1, r.now).outcome, outcome::counted);
  r.drain();
  EXPECT_EQ(r.pool.received.size(), 13U);
  EXPECT_EQ(r.outcomes.events_shed.sum(), 0U);
  r.expect_balance();
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
  r.drain();
  EXPECT_TRUE(r.pool.received.empty());
  r.expect_balance();
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
  r.drain();
  EXPECT_EQ(r.pool.received.size(), 2U);
  r.expect_balance();
  r.expect_bytes();
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
  r.drain();
  EXPECT_EQ(r.counters.events_admitted, 2U);
  EXPECT_EQ(r.counters.fragments_duplicate, 2 + 3U);
  EXPECT_EQ(r.pool.received.size(), 2U);
  r.expect_balance();
  r.expect_bytes();
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
  r.drain();
  ASSERT_FALSE(r.summaries.empty());
  EXPECT_EQ(r.summaries.back(), (spill_summary{1, 2, 0, std::nullopt}));
  EXPECT_EQ(r.pool.received.size(), 2U);
  r.expect_balance();
}

TEST_F(streams, events_of_spills_long_ago_are_admitted_and_in_no_summary) {
  for (const std::uint32_t spill : {10U, 11U}) send({spill, 1});
  for (const std::uint32_t number : {1U, 2U, 1U}) send({3, number});
  r.drain();
  EXPECT_EQ(r.counters.events_admitted, 4U);
  EXPECT_EQ(r.counters.older_admitted, 2U);
  EXPECT_EQ(r.counters.older_incomplete, 0U);
  EXPECT_EQ(r.summaries.size(), 2U);
  r.expect_balance();
}

TEST_F(streams, bodies_that_contradict_themselves_are_refused) {
  auto body = event_record_body({1, 1}, r.options.crates);
  body[4] = std::byte{9}; // fragments
  const auto taken = send({1, 1}, body);
  EXPECT_EQ(taken.outcome, outcome::refused);
  EXPECT_EQ(taken.reason, refused::stream_content);
  EXPECT_EQ(send({1, 20001}).outcome, outcome::refused) << "beyond max_events_per_spill";
  EXPECT_EQ(r.counters.fragments_seen, 0U);
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

TEST_F(stream_ends, that_come_again_may_overtake_what_came_over_the_broken_connection) {
  r.builder.attach(other, 60);
  r.builder.begin_of_spill(other, 1, r.now);
  end(other, 53, 50);
  end(stream, 53, 50);
  EXPECT_EQ(sent(), 50U);
  r.builder.detach(other);
}

TEST_F(stream_ends, of_a_sender_that_starts_from_the_beginning_count_once) {
  end(stream, 53, 50);
  r.builder.detach(stream);
  r.builder.attach(stream, 1);
  end(stream, 53, 50);
  EXPECT_EQ(sent(), 50U);
}

TEST_F(streams, a_stream_that_breaks_off_leaves_its_spill_to_silence) {
  {
    stream_landing other(max_event_body(r.options.crates));
    r.builder.attach(other);
    r.builder.begin_of_spill(other, 1, r.now);
    r.builder.detach(other);
  }
  send({1, 1});
  r.pass(999ms);
  EXPECT_TRUE(r.summaries.empty());
  r.pass(1ms);
  EXPECT_EQ(r.summaries.size(), 1U);
}

} // namespace
} // namespace l3::test
