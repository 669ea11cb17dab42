// SPDX-License-Identifier: Apache-2.0
// The whole selection on whole events must give the same decisions, summaries and bytes on every
// executor, in batches of any size, on any number of frames.
#include <chrono>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/selection/engine/selection_cases.hpp"
#include "tests/selection/engine/stream_queue.hpp"

namespace l3::test {
namespace {

TEST(selection, decides_alike_on_every_executor_and_in_every_batch) {
  const small_selecting s;
  const auto events = make_selected_events(300, 3);
  const auto expected = s.select({backend::serial, 0}, events, 300, 1, 1);
  ASSERT_EQ(expected.size(), events.size());
  EXPECT_GT(share_kept(expected), 30U);
  EXPECT_LT(share_kept(expected), 270U);
  for (const std::uint32_t batch : {1U, 7U, 64U}) {
    for (const std::uint32_t frames : {1U, 3U}) {
      EXPECT_EQ(s.select({backend::serial, 0}, events, batch, frames, 2), expected);
      EXPECT_EQ(s.select({backend::pool, 3}, events, batch, frames, 3), expected);
    }
  }
  EXPECT_EQ(s.select(shuffled_engine, events, 64, 2, 4), expected);
  const std::vector<made_event> few(events.begin(), events.begin() + 12);
  const std::vector<outcome> of_few(expected.begin(), expected.begin() + 12);
  EXPECT_EQ(s.select(threaded_engine, few, 5, 2, 5), of_few);
}

TEST(selection, finds_a_bit_that_flipped_in_the_tables_of_a_device_in_the_next_spill) {
  const small_selecting s;
  auto events = make_selected_events(6, 3);
  const selection_program program = s.loaded().program();
  imagined_memory::allocated_on_device().clear();
  const auto e = streamed_engine({capacity_for(events, 1400), 1}, &program);
  const std::span<std::byte> tables = imagined_memory::allocated_on_device().front();
  frame& f = *e->frames()[0];
  randomness r(1);
  const auto compute = [&](std::uint32_t spill) {
    f.input.clear();
    for (made_event& event : events) {
      event.spill = spill;
      add_event(f.input, event, 1400, r);
    }
    e->start(f);
    return e->wait_for(f, std::chrono::hours(1));
  };
  EXPECT_EQ(compute(1), frame_outcome::done);
  tables.back() ^= std::byte{1}; // a bit of the last prescale, which changes no decision here
  EXPECT_EQ(compute(1), frame_outcome::done) << "it looks once a spill";
  EXPECT_EQ(compute(2), frame_outcome::wrong);
  EXPECT_EQ(f.error, "the selection's tables changed in the device's memory");
  ASSERT_TRUE(e->restart(f));
  f.error.clear();
  EXPECT_EQ(compute(2), frame_outcome::done) << "the tables were sent again";
  EXPECT_EQ(compute(3), frame_outcome::done);
}

/// 10⁵ events on the fast executors, a tenth of them on the shuffled one. With L3_LONG=1 the
/// shuffled executor runs all of them, and the threaded one a tenth.
TEST(selection, decides_alike_on_very_many_events) {
  const small_selecting s;
  const bool take_long = std::getenv("L3_LONG") != nullptr;
  std::uint64_t events_seen = 0;
  std::uint64_t kept = 0;
  constexpr std::uint32_t at_once = 2000;
  const std::uint32_t turns = 50;
  for (std::uint32_t turn = 0; turn < turns; ++turn) {
    const auto events = make_selected_events(at_once, 100 + turn);
    const auto expected = s.select({backend::serial, 0}, events, 1 + turn % 13, 1, turn);
    ASSERT_EQ(s.select({backend::pool, 2}, events, 1 + 97 * (turn % 5), 1 + turn % 3, turn + 1),
              expected);
    if (take_long || turn % 10 == 0) {
      ASSERT_EQ(s.select(shuffled_engine, events, 50, 2, turn), expected);
    }
    if (take_long) {
      constexpr std::size_t some = 200; // the threaded executor is slow
      const std::vector<made_event> few(events.begin(), events.begin() + some);
      const std::vector<outcome> of_few(expected.begin(), expected.begin() + some);
      ASSERT_EQ(s.select(threaded_engine, few, 1 + turn % 9, 1 + turn % 2, turn), of_few);
    }
    events_seen += events.size();
    kept += share_kept(expected);
  }
  EXPECT_EQ(events_seen, 100000U);
  EXPECT_GT(kept, events_seen / 10);
  EXPECT_LT(kept, events_seen * 9 / 10);
}

TEST(selection, runs_another_sequence_if_it_is_told_to) {
  const small_selecting s;
  const auto events = make_selected_events(400, 4);
  const auto usual = s.select({backend::serial, 0}, events, 50, 1, 1);
  const auto& without = sequence_without_vetoes;
  const auto found = s.select({backend::serial, 0}, events, 50, 1, 1, without);
  std::uint64_t vetoed = 0;
  for (std::size_t e = 0; e < events.size(); ++e) {
    const event_summary& one = found[e].summary;
    ASSERT_EQ(one.vetoes, 0U);
    ASSERT_EQ(one.unknown, usual[e].summary.unknown & trigger_unknown);
    ASSERT_EQ(one.trigger, usual[e].summary.trigger);
    for (std::uint32_t q = 0; q < quantities; ++q)
      ASSERT_EQ(one.quantity[q], usual[e].summary.quantity[q]);
    vetoed += (one.fired & ~usual[e].summary.fired & 1) != 0 ? 1 : 0; // "two" asks all counters
  }
  EXPECT_GT(vetoed, 5U);
  EXPECT_EQ(s.select(shuffled_engine, events, 50, 1, 1, without), found);
}

} // namespace
} // namespace l3::test
