// SPDX-License-Identifier: Apache-2.0
// faulty_engine must fail on the frames of its plan, and on no others: all tests that use it rely
// on that.
#include "selection/engine/faulty_engine.hpp"

#include <stdexcept>

#include <gtest/gtest.h>

#include "selection/engine/make_engine.hpp"
#include "tests/selection/engine/make_events.hpp"

namespace l3::test {
namespace {

using namespace std::chrono_literals;

const auto events = make_events(4, 3, 4, 17);

std::unique_ptr<engine> failing(const fault_plan& plan, backend where = backend::serial) {
  compute_settings s{where, 1};
  s.fault = plan;
  return make_engine(s, {capacity_for(events, 1400), 2});
}

fault_plan plan_of(fault_kind kind, std::uint64_t every, std::uint64_t at, std::uint64_t from,
                   std::chrono::nanoseconds lasts = 0ns) {
  return {kind, every, at, from, lasts};
}

struct bench {
  explicit bench(const fault_plan& plan) : made(failing(plan)), f(*made->frames()[0]) {}

  frame_outcome run() {
    fill(f, events, 1400, r);
    made->start(f);
    return made->wait_for(f, 1ms);
  }
  /// The number of wrong bits in the output.
  int wrong_bits() const {
    std::size_t at = 0;
    int wrong = 0;
    for (const made_event& e : events) {
      for (const std::byte b : expect_event(e))
        wrong += std::popcount(std::to_integer<std::uint8_t>(b ^ f.output[at++]));
    }
    return wrong;
  }

  std::unique_ptr<engine> made;
  frame& f;
  randomness r{3};
};

TEST(faulty_engine, fails_every_so_many_frames) {
  bench b(plan_of(fault_kind::error, 3, 0, 0));
  for (int n = 1; n <= 7; ++n) {
    const frame_outcome outcome = b.run();
    EXPECT_EQ(outcome, n % 3 == 0 ? frame_outcome::failed : frame_outcome::done) << n;
    if (outcome == frame_outcome::done) expect_output(b.f, events, all);
  }
  EXPECT_NE(b.f.error.find("(imagined)"), std::string::npos);
}

TEST(faulty_engine, fails_once) {
  bench b(plan_of(fault_kind::error, 0, 2, 0));
  EXPECT_EQ(b.run(), frame_outcome::done);
  EXPECT_EQ(b.run(), frame_outcome::failed);
  EXPECT_EQ(b.run(), frame_outcome::done);
}

TEST(faulty_engine, fails_until_it_is_restarted) {
  bench b(plan_of(fault_kind::error, 0, 0, 2));
  EXPECT_EQ(b.run(), frame_outcome::done);
  EXPECT_EQ(b.run(), frame_outcome::failed);
  EXPECT_EQ(b.run(), frame_outcome::failed);
  EXPECT_TRUE(b.made->restart(b.f));
  EXPECT_EQ(b.run(), frame_outcome::done);
}

TEST(faulty_engine, fails_a_restart_once_and_leaves_the_frame_without_a_queue) {
  bench b(plan_of(fault_kind::no_restart, 0, 1, 0));
  EXPECT_EQ(b.run(), frame_outcome::failed);
  EXPECT_FALSE(b.made->restart(b.f));
  EXPECT_EQ(b.run(), frame_outcome::failed);
  EXPECT_NE(b.f.error.find("without a queue"), std::string::npos);
  EXPECT_TRUE(b.made->restart(b.f));
  EXPECT_EQ(b.run(), frame_outcome::done);
}

TEST(faulty_engine, once_dead_stays_dead) {
  bench b(plan_of(fault_kind::dead, 0, 0, 2));
  EXPECT_EQ(b.run(), frame_outcome::done);
  EXPECT_EQ(b.run(), frame_outcome::failed);
  EXPECT_FALSE(b.made->restart(b.f));
  EXPECT_EQ(b.run(), frame_outcome::failed);
}

TEST(faulty_engine, hangs_for_ever_on_the_frame_it_was_told) {
  bench b(plan_of(fault_kind::hang, 0, 1, 0));
  EXPECT_EQ(b.run(), frame_outcome::not_yet);
  EXPECT_EQ(b.made->wait_for(b.f, 1ms), frame_outcome::not_yet);
  EXPECT_FALSE(b.made->at_rest(b.f));
  frame& other = *b.made->frames()[1];
  fill(other, events, 1400, b.r);
  b.made->start(other);
  EXPECT_EQ(b.made->wait_for(other, 1ms), frame_outcome::done);
  EXPECT_TRUE(b.made->at_rest(other));
}

TEST(faulty_engine, hangs_for_a_while_and_then_has_the_results) {
  bench b(plan_of(fault_kind::hang, 0, 1, 0, 30ms));
  EXPECT_EQ(b.run(), frame_outcome::not_yet);
  ASSERT_TRUE(b.made->wait(b.f));
  EXPECT_TRUE(b.made->at_rest(b.f));
  expect_output(b.f, events, all);
}

TEST(faulty_engine, flips_one_bit_of_a_frame) {
  bench b(plan_of(fault_kind::wrong_bit, 2, 0, 0));
  for (int n = 1; n <= 6; ++n) {
    ASSERT_EQ(b.run(), frame_outcome::done);
    EXPECT_EQ(b.wrong_bits(), n % 2 == 0 ? 1 : 0) << n;
  }
}

TEST(faulty_engine, may_not_be_had_at_all) {
  const fault_plan none = plan_of(fault_kind::no_memory, 0, 0, 0);
  EXPECT_THROW(static_cast<void>(failing(none)), std::runtime_error);
  EXPECT_TRUE(failing(none, backend::automatic)->name().starts_with("pool ("));
}

} // namespace
} // namespace l3::test
