// SPDX-License-Identifier: Apache-2.0
// A device that comes back long after its frame was given up, played by a device whose streams are
// threads: it writes into the frame's output while others use the frame, and does no harm.
#include <cstring>

#include <gtest/gtest.h>

#include "daemon/compute/supervised_engine.hpp"
#include "gpu/executors/serial.hpp"
#include "selection/engine/basic_engine.hpp"
#include "selection/engine/make_engine.hpp"
#include "tests/selection/engine/make_events.hpp"
#include "tests/selection/engine/stream_queue.hpp"

namespace l3::test {
namespace {

using namespace std::chrono_literals;
using queue = stream_queue<serial_queue>;

TEST(late_device, writes_into_a_frame_that_others_use_and_does_no_harm) {
  const auto first = make_events(6, 3, 4, 23);
  const std::vector<made_event> second(first.rbegin(), first.rend());
  engine_limits limits{capacity_for(first, 1400), 2};
  std::vector<std::shared_ptr<stream_control>> streams;
  auto device =
      std::make_unique<basic_engine<queue, two_pass_plan<keep_all>>>("stream", limits, [&] {
        streams.push_back(std::make_shared<stream_control>());
        return queue(serial_queue(), streams.back());
      });
  limits.frames = 1;
  limits.own_input = false;
  time_point now(1000s);
  supervision s;
  s.verify_one_in = 1;
  s.now = [&] { return now; };
  supervised_engine e(
      std::move(device), make_engine({backend::serial, 0}, limits), s,
      [](engine_failure, std::string_view, const frame&) {}, [](std::string_view) {});
  frame& f = *e.frames()[0];
  randomness r(1);

  streams[0]->hold();
  fill(f, first, 1400, r);
  e.start(f);
  EXPECT_EQ(e.wait_for(f, 0ns), frame_outcome::not_yet);
  now += 1s;
  ASSERT_EQ(e.wait_for(f, 1ms), frame_outcome::done);
  expect_output(f, first, all);

  EXPECT_TRUE(e.reads_input(f)) << "it has not even copied it";
  constexpr int copies_and_mark = 3;
  streams[0]->let(copies_and_mark);
  while (e.reads_input(f)) std::this_thread::yield();

  // The receivers have it again, and the next batch is computed while the device wakes up.
  fill(f, second, 1400, r);
  now += 1h;
  e.start(f);
  ASSERT_EQ(e.wait_for(f, 1ms), frame_outcome::done);
  EXPECT_EQ(e.counters().restarts.get(), 0U);
  streams[0]->release();
  while (!e.at_rest(f)) std::this_thread::yield();
  EXPECT_NE(f.output_memory[0], std::byte{0xa5}) << "the device did write";
  expect_output(f, second, all);

  // The device has released the frame: it is tried again, on a new queue.
  fill(f, first, 1400, r);
  e.start(f);
  EXPECT_EQ(e.counters().restarts.get(), 1U);
  frame_outcome outcome;
  while ((outcome = e.wait_for(f, 1ms)) == frame_outcome::not_yet) std::this_thread::yield();
  ASSERT_EQ(outcome, frame_outcome::done);
  expect_output(f, first, all);
  EXPECT_FALSE(e.bypassed());
}

} // namespace
} // namespace l3::test
