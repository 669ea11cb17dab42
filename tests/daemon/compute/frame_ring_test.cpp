// SPDX-License-Identifier: Apache-2.0
#include "daemon/compute/frame_ring.hpp"

#include <thread>

#include <gtest/gtest.h>

#include "tests/daemon/compute/fake_engine.hpp"

namespace l3 {
namespace {

using namespace std::chrono_literals;
using counts = std::array<std::uint32_t, enumerators<frame_state>>;

TEST(frame_ring, goes_round_in_the_order_of_serial_numbers) {
  test::fake_engine engine(2, 4, 64);
  frame_ring ring(engine.frames());
  input_batch* first = ring.try_take();
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->serial, 1U);
  input_batch* second = ring.try_take();
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(second->serial, 2U);
  EXPECT_EQ(ring.try_take(), nullptr) << "every frame is busy";
  EXPECT_EQ(ring.count_states(), (counts{0, 2, 0, 0}));

  ring.submit(*first);
  ring.submit(*second);
  EXPECT_EQ(ring.count_states(), (counts{0, 0, 2, 0}));
  for (input_batch* expected : {first, second}) {
    frame* f = ring.wait_submitted({}, 0ns);
    ASSERT_NE(f, nullptr);
    EXPECT_EQ(&f->input, expected);
    ring.started(*f);
  }
  EXPECT_EQ(ring.wait_submitted({}, 0ns), nullptr);
  EXPECT_EQ(ring.count_states(), (counts{0, 0, 0, 2}));
  for (input_batch* expected : {first, second}) {
    frame* f = ring.wait_started({}, 0ns);
    ASSERT_NE(f, nullptr);
    EXPECT_EQ(&f->input, expected);
    ring.release(*f);
  }
  EXPECT_EQ(ring.count_states(), (counts{2, 0, 0, 0}));
}

TEST(frame_ring, a_batch_taken_again_is_empty) {
  test::fake_engine engine(1, 4, 64);
  frame_ring ring(engine.frames());
  for (std::uint64_t serial = 1; serial < 4; ++serial) {
    input_batch* b = ring.try_take();
    ASSERT_NE(b, nullptr);
    EXPECT_EQ(b->serial, serial);
    EXPECT_EQ(b->used_events, 0U);
    b->used_events = 3;
    b->used_bytes = 100;
    EXPECT_EQ(ring.events_under_way(), 0U) << "not submitted yet: the receivers' own";
    ring.submit(*b);
    EXPECT_EQ(ring.events_under_way(), 3U);
    frame* f = ring.wait_submitted({}, 0ns);
    ring.started(*f);
    EXPECT_EQ(ring.events_under_way(), 3U);
    ring.settled(*f, 2);
    EXPECT_EQ(ring.events_under_way(), 1U);
    ring.release(*ring.wait_started({}, 0ns));
    EXPECT_EQ(ring.events_under_way(), 0U);
  }
}

TEST(frame_ring, a_stop_ends_the_wait_for_a_frame_but_hides_none) {
  test::fake_engine engine(1, 4, 64);
  frame_ring ring(engine.frames());
  std::stop_source stop;
  std::jthread waits([&] { EXPECT_EQ(ring.wait_submitted(stop.get_token(), 1h), nullptr); });
  stop.request_stop();
  waits.join();
  ring.submit(*ring.try_take());
  EXPECT_NE(ring.wait_submitted(stop.get_token(), 1h), nullptr);
}

} // namespace
} // namespace l3
