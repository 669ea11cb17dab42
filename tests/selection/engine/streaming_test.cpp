// SPDX-License-Identifier: Apache-2.0
// Tests how the engine drives a device: the work that it enqueues, and the work for which it waits.
#include <memory>
#include <set>
#include <string>
#include <type_traits>
#include <typeindex>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/executors/serial.hpp"
#include "selection/engine/engine_on.hpp"
#include "tests/selection/engine/make_events.hpp"
#include "tests/selection/engine/stream_queue.hpp"

namespace l3::test {
namespace {

using queue = stream_queue<serial_queue>;
using controls = std::vector<std::shared_ptr<stream_control>>;

/// An engine on imagined streams, and the control of each frame's.
struct streaming_engine {
  explicit streaming_engine(const engine_limits& limits)
      : streaming_engine([&](const auto& make_queue) {
          return make_keeping_engine_on("stream", limits, make_queue);
        }) {}

  static streaming_engine keeping_odd(const engine_limits& limits) {
    return streaming_engine([&](const auto& make_queue) {
      return std::make_unique<basic_engine<queue, packing_plan<keep_odd_numbers>>>("stream", limits,
                                                                                   make_queue);
    });
  }

  engine* operator->() const { return made.get(); }

  controls streams;
  std::set<std::type_index> warmed; ///< kernels that ran before the first frame
  std::unique_ptr<engine> made;     // destroyed first

private:
  template <class Make>
  requires std::is_invocable_v<Make, queue (*)()>
  explicit streaming_engine(const Make& make) {
    made = make([this] {
      streams.push_back(std::make_shared<stream_control>());
      return queue(serial_queue(), streams.back());
    });
    warmed = streams.front()->kernels();
    for (const auto& s : streams) s->forget(); // the warming up
  }
};

const auto events = make_events(6, 3, 4, 23);

engine_limits limits(const batch_capacity& capacity, std::uint32_t frames) {
  return {capacity, frames};
}

/// Bytes of the host's output that are no longer poisoned, except those of kept events.
std::size_t written(const frame& f) {
  std::size_t n = 0;
  std::size_t at = 0;
  const auto count_to = [&](std::size_t end) {
    for (; at < end; ++at) n += f.output_memory[at] == std::byte{0xa5} ? 0 : 1;
  };
  for (const event_result& r : f.results) {
    count_to(r.offset);
    at += r.bytes;
  }
  count_to(f.output_memory.size());
  return n;
}

TEST(streaming, keeps_frames_in_flight_and_lets_none_wait_for_another) {
  const streaming_engine e(limits(capacity_for(events, 1400), 3));
  randomness r(1);
  for (const auto& s : e.streams) s->hold();
  for (frame* const f : e->frames()) {
    fill(*f, events, 1400, r);
    e->start(*f); // returns although the held queue has done no work
  }
  for (const std::size_t i : {2U, 0U, 1U}) {
    frame& f = *e->frames()[i];
    EXPECT_EQ(written(f), 0U);
    e.streams[i]->release();
    ASSERT_TRUE(e->wait(f)) << f.error;
    ASSERT_NO_FATAL_FAILURE(expect_output(f, events));
  }
}

TEST(streaming, waits_once_and_enqueues_nothing_more_when_it_waits) {
  const streaming_engine e(limits(capacity_for(events, 1400), 1));
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

TEST(streaming, reserves_nothing_once_it_is_made) {
  const streaming_engine e(limits(capacity_for(events, 1400), 2));
  const int before = imagined_memory::allocations();
  randomness r(3);
  for (int again = 0; again < 3; ++again)
    compute(*e.made, *e->frames()[again % 2], events, 1400, r);
  EXPECT_EQ(imagined_memory::allocations(), before);
}

TEST(streaming, sends_the_input_and_its_tables_in_one_copy) {
  const streaming_engine e(limits(capacity_for(events, 1400), 1));
  frame& f = *e->frames()[0];
  randomness r(4);
  compute(*e.made, f, {events[0]}, 1400, r);
  const auto copies = e.streams[0]->copies();
  ASSERT_EQ(copies.size(), 1U); // the engine copies nothing back
  EXPECT_TRUE(copies[0].in);
  const input_batch& in = f.input;
  const std::size_t used =
      in.used_bytes + in.used_events * (sizeof(event_entry) + sizeof(std::uint64_t)) +
      in.used_fragments * sizeof(fragment_entry) + in.used_pieces * sizeof(piece_offset) +
      in.used_boards * sizeof(board_entry);
  EXPECT_GE(copies[0].bytes, used);
  EXPECT_LT(copies[0].bytes, used + 5 * region::alignment);
}

TEST(streaming_decision, maps_exactly_the_bytes_that_are_kept) {
  const auto e = streaming_engine::keeping_odd({capacity_for(events, 0), 1});
  frame& f = *e->frames()[0];
  randomness r(5);
  for (std::size_t n = 0; n <= events.size(); ++n) {
    const std::vector<made_event> batch(events.begin(),
                                        events.begin() + static_cast<std::ptrdiff_t>(n));
    ASSERT_NO_FATAL_FAILURE(compute(*e.made, f, batch, 0, r, odd));
    EXPECT_EQ(written(f), 0U) << "nothing beside them was touched";
  }
}

TEST(streaming, names_every_stage_and_warms_up_every_kernel) {
  const streaming_engine e(limits(capacity_for(events, 0), 2));
  for (const frame* const f : e->frames()) {
    EXPECT_EQ(f->input.used_events + f->input.used_fragments + f->input.used_boards, 0U);
    EXPECT_EQ(f->input.events[0].fragments, 0U);
    EXPECT_TRUE(f->results.empty() && f->output.empty()) << "the warming up leaves no trace";
  }
  randomness r(7);
  compute(*e.made, *e->frames()[0], events, 0, r);
  EXPECT_EQ(e.streams[0]->stages(),
            (std::vector<std::string>{"copy in", "find boards", "pack", "place", "deliver"}));
  EXPECT_GT(e.warmed.size(), 1U);
  EXPECT_EQ(e.warmed, e.streams[0]->kernels());
}

TEST(streaming, hands_a_fault_to_its_frame_which_computes_again_in_the_same_memory) {
  const streaming_engine e(limits(capacity_for(events, 1400), 2));
  randomness r(10);
  frame& f = *e->frames()[0];
  fill(f, events, 1400, r);
  e.streams[0]->fail("the device fell off the bus");
  e->start(f);
  ASSERT_FALSE(e->wait(f));
  EXPECT_EQ(f.error, "the device fell off the bus");
  EXPECT_TRUE(f.results.empty() && f.output.empty());
  compute(*e.made, *e->frames()[1], events, 1400, r);
  const int before = imagined_memory::allocations();
  ASSERT_TRUE(e->restart(f)) << f.error;
  EXPECT_EQ(imagined_memory::allocations(), before);
  EXPECT_EQ(e.streams.size(), 3U) << "one more queue";
  compute(*e.made, f, events, 1400, r);
}

TEST(streaming, does_not_start_on_a_device_that_fails) {
  const auto stream = std::make_shared<stream_control>();
  stream->fail("no");
  const auto make = [&] {
    return make_keeping_engine_on("stream", limits(capacity_for(events, 0), 1),
                                  [&] { return queue(serial_queue(), stream); });
  };
  EXPECT_THROW(static_cast<void>(make()), std::runtime_error);
}

} // namespace
} // namespace l3::test
