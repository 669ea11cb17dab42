// SPDX-License-Identifier: Apache-2.0
// What the event builder counts by crate: the crate with the fault stands out, and the others do
// not.
#include <gtest/gtest.h>

#include "tests/transport/building/records.hpp"
#include "tests/transport/building/rig.hpp"

namespace l3::test {
namespace {

using namespace std::chrono_literals;
using counts = std::vector<std::uint64_t>;

counts by_crate(const crate_counts& c) { return {c[0], c[1], c[2]}; }

class crates : public testing::Test {
protected:
  void send_without(event_key key, std::uint32_t place) {
    for (std::uint32_t p = 0; p < 3; ++p)
      if (p != place) r.send(r.fragment(key, p));
  }
  void end() {
    r.drain();
    r.expect_balance();
  }

  rig r; // three crates
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
  end();
}

TEST_F(crates, are_not_missing_in_an_event_that_another_made_up) {
  r.send(r.event({1, 1})); // proves the spill
  r.send(r.fragment({1, 1000}, 1));
  r.pass(2s);
  EXPECT_EQ(r.counters.fragments_missing, 0U);
  EXPECT_EQ(r.counters.fragments_overdue, 0U);
  EXPECT_EQ(by_crate(r.counters.fragments_alone), counts({0, 1, 0}));
  EXPECT_EQ(r.counters.latest[1], (event_key{1, 1000}));
  end();
}

TEST_F(crates, with_malformed_fragments_have_them_under_their_reason) {
  send_without({1, 1}, 0);
  const crate_readout& crate = r.options.crates.crates[0];
  r.send(datagrams_of(make_fragment({1, 2}, 0, crate), {1, 1}, 0, r.options.crates,
                      r.options.chunk_bytes));
  end();
  EXPECT_EQ(r.counters.fragments_malformed.of(0)[malformed::wrong_l1a], 1U);
  EXPECT_EQ(r.counters.fragments_malformed.of(1).sum(), 0U);
  EXPECT_EQ(r.counters.fragments_missing, 0U);
}

TEST_F(crates, that_repeat_themselves_have_duplicates) {
  r.send(r.event({1, 1}));
  r.send(r.fragment({1, 1}, 2));
  EXPECT_EQ(by_crate(r.counters.fragments_duplicate), counts({0, 0, 1}));
  end();
}

TEST_F(crates, a_spill_behind_are_late_and_named_by_their_latest_fragment) {
  for (std::uint32_t spill : {5U, 6U}) {
    r.send(r.event({spill, 4})); // proves the spill
    for (std::uint32_t n = 1; n <= 3; ++n) send_without({spill, n}, 1);
    r.pass(2s);
  }
  for (std::uint32_t n = 1; n <= 3; ++n) r.send(r.fragment({5, n}, 1));
  end();
  EXPECT_EQ(by_crate(r.counters.fragments_late), counts({0, 3, 0}));
  EXPECT_EQ(r.counters.latest[1], (event_key{5, 3}));
  EXPECT_EQ(r.counters.latest[0], (event_key{6, 3}));
}

TEST_F(crates, far_from_the_spill_being_taken_are_astray) {
  for (std::uint32_t n = 1; n <= 3; ++n) r.send(r.event({100, n}));
  r.send(r.fragment({90, 1}, 2));
  end();
  EXPECT_GT(r.counters.astray[2], 0U);
  EXPECT_EQ(r.counters.astray, r.counters.astray[2]);
  EXPECT_EQ(r.counters.latest[2], (event_key{90, 1}));
}

TEST_F(crates, differ_by_their_time_stamps) {
  r.send(r.event({1, 1})); // stamps of 1000 times the number, and the place
  EXPECT_EQ(r.counters.time_ahead[0], 0U);
  EXPECT_EQ(r.counters.time_ahead[1], 1U);
  EXPECT_EQ(r.counters.time_ahead[2], 2U);
  end();
}

TEST_F(crates, of_a_record_are_counted_like_those_of_datagrams) {
  stream_landing stream(max_event_body(r.options.crates));
  r.builder.attach(stream);
  const auto body = event_record_body({1, 1}, r.options.crates);
  for (int turn = 0; turn < 2; ++turn) (void)r.send(stream, 1, body);
  r.builder.detach(stream);
  end();
  EXPECT_EQ(by_crate(r.counters.fragments_admitted), counts({1, 1, 1}));
  EXPECT_EQ(by_crate(r.counters.fragments_duplicate), counts({1, 1, 1}));
}

} // namespace
} // namespace l3::test
