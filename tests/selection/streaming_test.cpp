// SPDX-License-Identifier: Apache-2.0
// How the engine drives a device: what it enqueues, what it waits for, and for whom.
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/queues/serial.hpp"
#include "selection/basic_engine.hpp"
#include "tests/selection/decisions.hpp"
#include "tests/selection/make_events.hpp"
#include "tests/selection/stream_queue.hpp"

namespace l3::test {
namespace {

using queue = stream_queue<serial_queue>;
using controls = std::vector<std::shared_ptr<stream_control>>;

/// An engine on imagined streams, and the control of each frame's.
template <class Decide = keep_all>
struct streaming {
  explicit streaming(engine_limits limits, output_path path = output_path::mapped) {
    limits.output = path;
    made = std::make_unique<basic_engine<queue, Decide>>("stream", limits, [this] {
      streams.push_back(std::make_shared<stream_control>());
      return queue(serial_queue(), streams.back());
    });
    for (const auto& s : streams) s->forget(); // the warming up
  }
  engine* operator->() const { return made.get(); }

  controls streams;
  std::unique_ptr<engine> made; // ends first
};

const auto events = make_events(6, 3, 4, 23);

bool odd(const made_event& e) { return e.number % 2 == 1; }

/// Bytes of the host's output that are no longer poisoned, counted from its start.
std::size_t written(const frame& f) {
  std::size_t n = f.output_memory.size();
  while (n > 0 && f.output_memory[n - 1] == std::byte{0xa5}) --n;
  return n;
}

TEST(streaming, keeps_frames_in_flight_and_lets_none_wait_for_another) {
  const streaming<> e({capacity_for(events, 1400), 3});
  randomness r(1);
  for (const auto& s : e.streams) s->hold();
  for (frame* const f : e->frames()) {
    fill(*f, events, 1400, r);
    e->start(*f); // returns, though nothing can have been done
  }
  for (const std::size_t i : {2U, 0U, 1U}) {
    frame& f = *e->frames()[i];
    EXPECT_EQ(written(f), 0U);
    e.streams[i]->release();
    ASSERT_TRUE(e->wait(f)) << f.error;
    ASSERT_NO_FATAL_FAILURE(expect_output(f, events, all));
  }
}

TEST(streaming, waits_once_and_enqueues_nothing_more_when_it_waits) {
  for (const output_path path : {output_path::mapped, output_path::copied}) {
    const streaming<> e({capacity_for(events, 1400), 1}, path);
    randomness r(2);
    frame& f = *e->frames()[0];
    fill(f, events, 1400, r);
    e->start(f);
    const int enqueued = e.streams[0]->enqueued();
    EXPECT_EQ(e.streams[0]->waits(), 0);
    ASSERT_TRUE(e->wait(f)) << f.error;
    EXPECT_EQ(e.streams[0]->waits(), 1);
    EXPECT_EQ(e.streams[0]->enqueued(), enqueued);
  }
}

TEST(streaming, reserves_nothing_once_it_is_made) {
  const streaming<> e({capacity_for(events, 1400), 2});
  const int before = imagined_memory::allocations();
  randomness r(3);
  for (int again = 0; again < 3; ++again) {
    frame& f = *e->frames()[again % 2];
    fill(f, events, 1400, r);
    e->start(f);
    ASSERT_TRUE(e->wait(f)) << f.error;
  }
  EXPECT_EQ(imagined_memory::allocations(), before);
}

TEST(streaming, sends_the_input_and_its_tables_in_two_copies) {
  const batch_capacity capacity = capacity_for(events, 1400);
  const streaming<> e({capacity, 1});
  frame& f = *e->frames()[0];
  randomness r(4);
  fill(f, {events[0]}, 1400, r);
  e->start(f);
  ASSERT_TRUE(e->wait(f)) << f.error;
  const auto copies = e.streams[0]->copies();
  ASSERT_EQ(copies.size(), 2U); // mapped: nothing is copied back
  EXPECT_TRUE(copies[0].in && copies[1].in);
  EXPECT_EQ(copies[0].bytes, f.input.used_bytes);
  const std::size_t others = capacity.events * sizeof(event_entry) +
                             capacity.fragments * sizeof(fragment_entry) +
                             capacity.pieces * sizeof(piece_offset);
  const std::size_t used = f.input.used_boards * sizeof(board_entry);
  EXPECT_GE(copies[1].bytes, others + used);
  EXPECT_LT(copies[1].bytes, others + used + 3 * region::alignment);
}

TEST(streaming, maps_exactly_the_bytes_that_there_are) {
  const streaming<keep_odd_numbers> e({capacity_for(events, 0), 1});
  frame& f = *e->frames()[0];
  randomness r(5);
  for (std::size_t n = 0; n <= events.size(); ++n) {
    const std::vector<made_event> batch(events.begin(),
                                        events.begin() + static_cast<std::ptrdiff_t>(n));
    fill(f, batch, 0, r);
    e->start(f);
    ASSERT_TRUE(e->wait(f)) << f.error;
    ASSERT_NO_FATAL_FAILURE(expect_output(f, batch, odd));
    EXPECT_LE(written(f), f.output.size()) << "nothing behind it was touched";
  }
}

TEST(streaming, copies_back_what_the_batch_could_have_become_and_not_the_whole_frame) {
  const batch_capacity capacity = capacity_for(events, 0);
  const streaming<> e({capacity, 1}, output_path::copied);
  frame& f = *e->frames()[0];
  randomness r(6);
  fill(f, {events[0]}, 0, r);
  e->start(f);
  ASSERT_TRUE(e->wait(f)) << f.error;
  expect_output(f, {events[0]}, all);
  const auto copies = e.streams[0]->copies();
  ASSERT_EQ(copies.size(), 3U);
  EXPECT_FALSE(copies[2].in);
  EXPECT_GE(copies[2].bytes, f.output.size());
  EXPECT_LT(copies[2].bytes, f.input.used_bytes + 3 * 4096);
  EXPECT_LT(copies[2].bytes, largest_output(capacity));
}

TEST(streaming, names_every_stage) {
  const streaming<> e({capacity_for(events, 0), 1});
  frame& f = *e->frames()[0];
  randomness r(7);
  fill(f, events, 0, r);
  e->start(f);
  ASSERT_TRUE(e->wait(f)) << f.error;
  EXPECT_EQ(e.streams[0]->stages(), (std::vector<std::string>{"copy in", "measure", "select",
                                                              "place", "pack", "copy out"}));
}

TEST(streaming, hands_a_fault_to_the_frame_it_hit) {
  const streaming<> e({capacity_for(events, 0), 2});
  randomness r(8);
  for (frame* const f : e->frames()) fill(*f, events, 0, r);
  e.streams[1]->fail("the device fell off the bus");
  for (frame* const f : e->frames()) e->start(*f);
  EXPECT_FALSE(e->wait(*e->frames()[1]));
  EXPECT_EQ(e->frames()[1]->error, "the device fell off the bus");
  EXPECT_TRUE(e->frames()[1]->results.empty());
  EXPECT_TRUE(e->frames()[1]->output.empty());
  ASSERT_TRUE(e->wait(*e->frames()[0])) << e->frames()[0]->error;
  expect_output(*e->frames()[0], events, all);
}

TEST(streaming, does_not_start_on_a_device_that_fails) {
  const auto stream = std::make_shared<stream_control>();
  stream->fail("no");
  const auto make = [&] {
    return basic_engine<queue>("stream", {capacity_for(events, 0), 1},
                               [&] { return queue(serial_queue(), stream); });
  };
  EXPECT_THROW(make(), std::runtime_error);
}

TEST(streaming, leaves_no_trace_of_the_warming_up) {
  const streaming<> e({capacity_for(events, 0), 2});
  for (const frame* const f : e->frames()) {
    EXPECT_EQ(f->input.used_events + f->input.used_boards, 0U);
    EXPECT_TRUE(f->results.empty());
    EXPECT_TRUE(f->output.empty());
  }
}

} // namespace
} // namespace l3::test
