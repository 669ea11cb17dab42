// SPDX-License-Identifier: Apache-2.0
#include "daemon/compute/pipeline.hpp"

#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "daemon/compute/supervised_engine.hpp"
#include "transport/format/endian.hpp"

namespace l3 {
namespace {

using namespace std::chrono_literals;

/// Its frames are plain memory, and a function of the test makes each result. It can be told to
/// fail.
class fake_engine final : public engine {
public:
  /// Packs every event as `bytes` bytes that begin with its number.
  fake_engine(std::uint32_t frames, std::uint32_t events, std::uint32_t bytes) : bytes_(bytes) {
    name_ = "fake";
    for (std::uint32_t i = 0; i < frames; ++i) {
      auto f = std::make_unique<own_frame>();
      f->index = i;
      f->events.resize(events);
      f->input.events = f->events;
      f->packed.resize(std::size_t{events} * bytes);
      f->decided.resize(events);
      frames_.push_back(f.get());
      owned_.push_back(std::move(f));
    }
  }

  void start(frame&) override { ++started; }
  [[nodiscard]] bool at_rest(const frame&) const override { return true; }
  [[nodiscard]] bool restart(frame&) override { return true; }
  [[nodiscard]] bool reads_input(const frame& f) const override { return reads(f); }
  [[nodiscard]] frame_outcome wait_for(frame& f, std::chrono::nanoseconds limit) override {
    if (hangs(f)) {
      std::this_thread::sleep_for(limit);
      return frame_outcome::not_yet;
    }
    if (fails(f)) {
      f.error = "the device fell off the bus";
      return frame_outcome::failed;
    }
    auto& own = static_cast<own_frame&>(f);
    for (std::uint32_t e = 0; e < f.input.used_events; ++e) {
      event_result r;
      r.offset = std::uint64_t{e} * bytes_;
      r.bytes = bytes_;
      r.original_bytes = 3 * bytes_;
      r.kept = keeps(f.input.events[e]) ? 1 : 0;
      own.decided[e] = r;
      std::memcpy(own.packed.data() + r.offset, &f.input.events[e].number, sizeof(std::uint32_t));
    }
    f.results = {own.decided.data(), f.input.used_events};
    f.output = own.packed;
    return frame_outcome::done;
  }

  std::function<bool(const frame&)> hangs = [](const frame&) { return false; };
  std::function<bool(const frame&)> fails = [](const frame&) { return false; };
  std::function<bool(const frame&)> reads = [](const frame&) { return false; };
  std::function<bool(const event_entry&)> keeps = [](const event_entry&) { return true; };
  int started = 0;

private:
  struct own_frame : frame {
    std::vector<event_entry> events;
    std::vector<std::byte> packed;
    std::vector<event_result> decided;
  };
  std::uint32_t bytes_;
  std::vector<std::unique_ptr<own_frame>> owned_;
};

using counts = std::array<std::uint32_t, enumerators<frame_state>>;

TEST(frame_ring, goes_round_in_the_order_of_serial_numbers) {
  fake_engine engine(2, 4, 64);
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
  fake_engine engine(1, 4, 64);
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

TEST(frame_ring, gives_the_frames_of_healthy_devices_first) {
  fake_engine engine(4, 4, 64);
  std::uint32_t healthy = 1; // frames of two devices in turn
  frame_ring ring(engine.frames(), [&](const frame& f) { return f.index % 2 == healthy; });
  EXPECT_EQ(ring.try_take(), &engine.frames()[1]->input);
  EXPECT_EQ(ring.try_take(), &engine.frames()[3]->input);
  EXPECT_EQ(ring.try_take(), &engine.frames()[0]->input) << "the CPU computes those";
  EXPECT_EQ(ring.try_take(), &engine.frames()[2]->input);
  EXPECT_EQ(ring.try_take(), nullptr);
}

TEST(frame_ring, is_usable_while_a_driver_is_asked_about_a_held_frame) {
  fake_engine engine(2, 4, 64);
  frame_ring ring(engine.frames());
  ring.submit(*ring.try_take());
  frame* const f = ring.wait_submitted({}, 0ns);
  ring.started(*f);
  ring.hold(*ring.wait_started({}, 0ns));
  ring.release_held([&](const frame&) {
    std::jthread receives([&] { EXPECT_NE(ring.try_take(), nullptr); }); // joined here
    return false;
  });
  EXPECT_EQ(ring.try_take(), nullptr) << "it is still held";
  ring.release_held([](const frame&) { return true; });
  EXPECT_EQ(ring.try_take(), &f->input);
}

TEST(frame_ring, a_stop_ends_the_wait_for_a_frame_but_hides_none) {
  fake_engine engine(1, 4, 64);
  frame_ring ring(engine.frames());
  std::stop_source stop;
  std::jthread waits([&] { EXPECT_EQ(ring.wait_submitted(stop.get_token(), 1h), nullptr); });
  stop.request_stop();
  waits.join();
  ring.submit(*ring.try_take());
  EXPECT_NE(ring.wait_submitted(stop.get_token(), 1h), nullptr);
}

constexpr std::uint32_t event_bytes = 64 << 10;

/// The tests wait for threads that need the processor.
template <class Condition>
void wait_until(const Condition& holds) {
  while (!holds()) std::this_thread::sleep_for(100us);
}

/// A pipeline between batches submitted by hand and an outbox that only store_what_is_sealed()
/// empties.
struct rig {
  explicit rig(std::uint32_t frames = 3)
      : engine(frames, 8, event_bytes), ring(engine.frames()),
        out({mebibytes(1), {256 << 10}, 1ms}, {1, 1, 0}, safety) {}

  void begin() {
    work.emplace(engine, ring, way_out, sheds, outcomes, histograms,
                 [this](std::string_view text) { reported = text; });
  }

  void submit(std::uint32_t events) {
    input_batch* b = nullptr;
    wait_until([&] {
      if (stores) store_what_is_sealed();
      return (b = ring.try_take()) != nullptr;
    });
    for (std::uint32_t e = 0; e < events; ++e)
      b->events[e] = {.number = ++admitted, .flags = flags};
    b->used_events = events;
    ring.submit(*b);
  }

  void store_what_is_sealed() { out.stored_up_to(out.last_sealed(), steady_clock::now()); }

  [[nodiscard]] std::uint64_t accounted() const {
    return out.events_waiting() + out.events_stored() + outcomes.events_rejected +
           outcomes.events_shed.sum();
  }

  fake_engine engine;
  frame_ring ring;
  safe_batches safety;
  outbox out;
  spilling_outbox way_out{out};
  shedding sheds{1, {}};
  outcome_counters outcomes;
  histogram_book histograms{0};
  bool stores = false; ///< while a frame is waited for: a full outbox holds them all
  std::uint32_t admitted = 0;
  std::uint32_t flags = event_kept_by_sender; ///< of the events
  std::string reported;
  std::optional<pipeline> work;
};

TEST(pipeline, hands_every_kept_event_to_the_outbox) {
  rig r;
  r.engine.keeps = [](const event_entry& e) { return e.number % 2 == 0; };
  r.begin();
  r.submit(8);
  r.submit(0);
  r.submit(3);
  r.work->finish(steady_clock::now() + 10s);
  EXPECT_EQ(r.out.events_waiting(), 5U);
  EXPECT_EQ(r.outcomes.events_rejected.get(), 6U);
  EXPECT_EQ(r.engine.started, 2) << "an empty batch is not computed";
  EXPECT_EQ(r.outcomes.waveform_bytes.get(), 5U * 3 * event_bytes);
  EXPECT_EQ(r.outcomes.computed_bytes.get(), 11U * 3 * event_bytes);
  EXPECT_EQ(r.outcomes.packed_bytes.sum(), 5U * event_bytes);
  r.store_what_is_sealed();
  EXPECT_EQ(r.safety.up_to(), 3U);
}

TEST(pipeline, drains_frames_behind_one_that_hangs_and_tells_none_as_safe_before_it) {
  rig r(4);
  std::atomic<bool> hangs = true;
  r.engine.hangs = [&](const frame& f) { return f.input.serial == 2 && hangs; };
  r.begin();
  for (int b = 0; b < 8; ++b) r.submit(1); // more than the other three frames
  wait_until([&] { return r.accounted() == 7; });
  r.store_what_is_sealed();
  EXPECT_LE(r.safety.up_to(), 1U);
  hangs = false;
  r.work->finish(steady_clock::now() + 10s);
  EXPECT_EQ(r.accounted(), 8U);
  r.store_what_is_sealed();
  EXPECT_EQ(r.safety.up_to(), 8U);
}

TEST(pipeline, counts_the_events_of_a_frame_that_failed) {
  rig r;
  r.engine.fails = [](const frame& f) { return f.input.serial == 2; };
  r.begin();
  for (int b = 0; b < 3; ++b) r.submit(4);
  r.work->finish(steady_clock::now() + 10s);
  EXPECT_EQ(r.outcomes.events_shed[shed::engine], 4U);
  EXPECT_EQ(r.out.events_waiting(), 8U);
  EXPECT_EQ(r.work->failed_frames(), 1U);
  EXPECT_EQ(r.reported, "the device fell off the bus");
  r.store_what_is_sealed();
  EXPECT_EQ(r.safety.up_to(), 1U) << "what was given up is not told to its sender as safe";
}

TEST(pipeline, gives_no_frame_back_whose_input_the_device_may_still_read) {
  rig r;
  std::atomic<bool> reads = true;
  const frame* const given_up = r.engine.frames()[0];
  r.engine.reads = [&](const frame& f) { return &f == given_up && reads; };
  r.begin();
  std::vector<const input_batch*> taken;
  for (int b = 0; b < 6; ++b) {
    input_batch* batch = nullptr;
    wait_until([&] { return (batch = r.ring.try_take()) != nullptr; });
    taken.push_back(batch);
    r.ring.submit(*batch);
  }
  EXPECT_EQ(std::ranges::count(taken, &given_up->input), 1);
  const auto held = [&] {
    return r.ring.count_states()[static_cast<std::size_t>(frame_state::held)];
  };
  wait_until([&] { return r.ring.idle(); });
  EXPECT_EQ(held(), 1U);
  EXPECT_EQ(r.ring.events_under_way(), 0U);
  r.store_what_is_sealed();
  EXPECT_EQ(r.safety.up_to(), 6U) << "its events are settled all the same";
  reads = false;
  wait_until([&] { return held() == 0; });
  r.work->finish(steady_clock::now() + 10s);
}

TEST(pipeline, waits_for_a_full_outbox_and_gives_up_only_at_the_deadline) {
  for (const bool there_is_room_again : {true, false}) {
    rig r;
    r.begin();
    for (int b = 0; b < 3; ++b)
      r.submit(8); // 24 events of 64 KiB; the outbox holds less than 1 MiB of them
    wait_until([&] { return r.work->waiting_for_outbox(); });
    EXPECT_EQ(r.outcomes.events_shed.sum(), 0U);
    EXPECT_GE(r.ring.events_under_way(), 8U) << "frames wait with it";
    if (there_is_room_again) {
      wait_until([&] {
        r.store_what_is_sealed();
        return r.out.events_stored() == 24;
      });
      r.work->finish(steady_clock::now() + 10s);
      EXPECT_EQ(r.outcomes.events_shed.sum(), 0U);
      EXPECT_EQ(r.safety.up_to(), 3U);
      continue;
    }
    r.work->finish(steady_clock::now());
    EXPECT_GT(r.outcomes.events_shed[shed::drain], 0U);
    EXPECT_EQ(r.accounted(), 24U);
    r.store_what_is_sealed();
    EXPECT_LT(r.safety.up_to(), 3U) << "what was given up is not told to its sender as safe";
  }
}

TEST(pipeline, gives_up_events_that_cannot_wait_instead_of_waiting_for_ever) {
  rig r(8);
  r.flags = 0;
  r.begin();
  for (int b = 0; b < 8; ++b) r.submit(8); // 64 events of 64 KiB; no block is stored for a while
  wait_until([&] { return r.outcomes.events_shed[shed::priority] > 10; });
  EXPECT_TRUE(r.sheds.active());
  wait_until([&] {
    r.store_what_is_sealed();
    return r.accounted() == 64;
  });
  r.work->finish(steady_clock::now() + 10s);
  EXPECT_FALSE(r.work->waiting_for_outbox());
  EXPECT_EQ(r.accounted(), 64U);
}

TEST(pipeline, gives_nothing_up_for_want_of_room_as_long_as_there_are_frames) {
  rig r(8);
  r.flags = 0;
  r.begin();
  for (int b = 0; b < 3; ++b) r.submit(8);
  wait_until([&] { return r.work->waiting_for_outbox(); });
  // Each turn is a millisecond; every tenth it looks at the room.
  const std::uint64_t turns = r.work->drain_turns();
  wait_until([&] { return r.work->drain_turns() > turns + 100; });
  EXPECT_FALSE(r.sheds.active());
  EXPECT_EQ(r.outcomes.events_shed.sum(), 0U);
  for (int b = 0; b < 4; ++b) r.submit(8);
  wait_until([&] { return r.outcomes.events_shed[shed::priority] > 0; });
  r.work->finish(steady_clock::now());
  EXPECT_EQ(r.accounted(), 56U);
}

RC_GTEST_PROP(pipeline, accounts_for_every_event, ()) {
  rig r(2);
  const auto batches = *rc::gen::container<std::vector<std::uint32_t>>(rc::gen::inRange(0U, 9U));
  const auto bad = *rc::gen::inRange(1U, 8U);
  r.engine.fails = [=](const frame& f) { return f.input.serial % 8 == bad; };
  r.engine.keeps = [=](const event_entry& e) { return e.number % bad != 0; };
  r.begin();
  r.stores = true;
  for (const std::uint32_t events : batches) r.submit(events);
  r.work->finish(steady_clock::now());
  RC_ASSERT(r.accounted() == r.admitted);
}

} // namespace
} // namespace l3
