// SPDX-License-Identifier: Apache-2.0
// The results of a frame are right for any fault of the device: compared with the oracle, with the
// fault executor as the device and a clock that only the test moves.
#include "daemon/compute/supervised_engine.hpp"

#include <future>

#include <gtest/gtest.h>

#include "gpu/executors/serial.hpp"
#include "selection/engine/basic_engine.hpp"
#include "selection/engine/make_engine.hpp"
#include "tests/selection/engine/make_events.hpp"
#include "tests/selection/engine/stream_queue.hpp"

namespace l3::test {
namespace {

using namespace std::chrono_literals;

const auto events = make_events(6, 3, 4, 23);

/// How a device misbehaves beyond its fault, and what it was asked.
struct conduct {
  bool astray = false;         ///< puts one event of its next frame beyond the output
  bool tables_changed = false; ///< finds its tables changed with its next frame
  std::function<void()> starts = [] {};
  std::function<void()> restarts = [] {};
  int started = 0;
};

class watched_engine final : public engine {
public:
  watched_engine(std::unique_ptr<engine> inner, conduct& acts)
      : inner_(std::move(inner)), acts_(acts) {
    frames_.assign(inner_->frames().begin(), inner_->frames().end());
    memory_plan_.assign(inner_->memory_plan().begin(), inner_->memory_plan().end());
  }
  void start(frame& f) override {
    ++acts_.started;
    acts_.starts();
    inner_->start(f);
  }
  [[nodiscard]] frame_outcome wait_for(frame& f, std::chrono::nanoseconds limit) override {
    const auto outcome = inner_->wait_for(f, limit);
    if (outcome != frame_outcome::done) return outcome;
    if (std::exchange(acts_.astray, false)) {
      results_.assign(f.results.begin(), f.results.end());
      results_.back().offset = f.output.size();
      f.results = results_;
    }
    if (!std::exchange(acts_.tables_changed, false)) return outcome;
    f.error = "the tables changed";
    return frame_outcome::wrong;
  }
  [[nodiscard]] bool at_rest(const frame& f) const override { return inner_->at_rest(f); }
  [[nodiscard]] bool reads_input(const frame& f) const override { return inner_->reads_input(f); }
  [[nodiscard]] bool lost() const override { return inner_->lost(); }
  [[nodiscard]] bool restart(frame& f) override {
    acts_.restarts();
    return inner_->restart(f);
  }

private:
  std::unique_ptr<engine> inner_;
  conduct& acts_;
  std::vector<event_result> results_;
};

struct rig {
  explicit rig(const fault_plan& fault, std::uint32_t one_in = 1) {
    compute_settings device{backend::serial, 0};
    device.fault = fault;
    engine_limits limits{capacity_for(events, 1400), 3};
    engine_limits bypass = limits;
    bypass.frames = 1;
    bypass.own_input = false;
    supervision s;
    s.verify_one_in = one_in;
    s.now = [this] { return now; };
    engine.emplace(
        std::make_unique<watched_engine>(make_engine(device, limits), acts),
        std::make_unique<watched_engine>(make_engine({backend::pool, 2}, bypass), of_cpu), s,
        [this](engine_failure kind, std::string_view text, const frame& f) {
          reports.push_back(std::string(name_of(kind)) + ": " + std::string(text));
          outputs_reported += f.output.empty() ? 0 : 1;
        },
        [this](std::string_view text) { notes.emplace_back(text); });
  }

  /// Computes a frame; returns how often the device was waited for in vain.
  int run(std::uint32_t index = 0) {
    start(index);
    return finish(index);
  }
  void start(std::uint32_t index) {
    const int before = acts.started;
    fill(*engine->frames()[index], events, 1400, random);
    engine->start(*engine->frames()[index]);
    on_device[index] = acts.started != before;
  }
  int finish(std::uint32_t index) {
    frame& f = *engine->frames()[index];
    int in_vain = 0;
    const std::uint64_t before = counters().failures.sum();
    frame_outcome outcome;
    while ((outcome = engine->wait_for(f, 1ms)) == frame_outcome::not_yet) {
      if (!on_device[index] || counters().failures.sum() != before) continue; // the CPU computes it
      now += 100ms;
      ++in_vain;
    }
    EXPECT_EQ(outcome, frame_outcome::done) << f.error;
    expect_output(f, events, all);
    return in_vain;
  }

  [[nodiscard]] const engine_counters& counters() const { return engine->counters(); }

  time_point now{1000s};
  conduct acts;
  conduct of_cpu;
  std::array<bool, 3> on_device{};
  std::vector<std::string> reports;
  std::vector<std::string> notes;
  int outputs_reported = 0;
  randomness random{1};
  std::optional<supervised_engine> engine;
};

fault_plan every(fault_kind kind, std::uint64_t n) { return {kind, n, 0, 0, 0ns}; }
fault_plan at(fault_kind kind, std::uint64_t n, std::chrono::nanoseconds lasts = 0ns) {
  return {kind, 0, n, 0, lasts};
}
fault_plan from(fault_kind kind, std::uint64_t n) { return {kind, 0, 0, n, 0ns}; }

TEST(supervised_engine, lets_a_good_device_work) {
  rig r({});
  for (std::uint32_t n = 0; n < 5; ++n) r.run(n % 3);
  EXPECT_FALSE(r.engine->bypassed());
  EXPECT_EQ(r.counters().frames_bypassed.get(), 0U);
  EXPECT_EQ(r.counters().events_verified.get(), 5 * events.size());
  EXPECT_EQ(r.counters().events_wrong.get(), 0U);
  EXPECT_TRUE(r.reports.empty());
  std::size_t bypass = 0; // the memory of both is planned
  for (const memory_use& use : r.engine->memory_plan())
    if (use.what.starts_with("bypass")) bypass = use.bytes;
  EXPECT_GT(bypass, r.engine->frames()[0]->output_memory.size());
  EXPECT_LT(bypass, 10 * r.engine->frames()[0]->output_memory.size());
}

TEST(supervised_engine, computes_a_frame_that_failed_and_tries_the_device_again) {
  rig r(at(fault_kind::error, 2));
  r.run();
  r.run(1);
  EXPECT_TRUE(r.engine->bypassed());
  EXPECT_EQ(r.counters().failures[engine_failure::error], 1U);
  EXPECT_EQ(r.counters().frames_bypassed.get(), 1U);
  r.now += 999ms;
  r.run(2);
  EXPECT_EQ(r.counters().frames_bypassed.get(), 2U) << "not before its pause is over";
  r.now += 1ms;
  r.run();
  EXPECT_FALSE(r.engine->bypassed());
  EXPECT_EQ(r.counters().restarts.get(), 1U);
  r.run(1); // which is restarted on the way
  EXPECT_EQ(r.counters().frames_bypassed.get(), 2U);
  EXPECT_EQ(r.notes.back(), "the device computes again");
}

TEST(supervised_engine, an_error_that_only_a_restart_ends) {
  rig r(from(fault_kind::error, 2));
  for (std::uint32_t n = 0; n < 3; ++n) r.start(n);
  for (std::uint32_t n = 0; n < 3; ++n) r.finish(n);
  EXPECT_EQ(r.counters().failures[engine_failure::error], 2U);
  EXPECT_EQ(r.notes.size(), 1U) << "two frames of one breakdown are one reason to wait";
  r.now += 1s;
  for (std::uint32_t n = 0; n < 3; ++n) r.run(n);
  EXPECT_FALSE(r.engine->bypassed());
  EXPECT_EQ(r.counters().frames_bypassed.get(), 2U);
}

TEST(supervised_engine, sees_a_hang_at_the_time_limit_and_not_before) {
  rig r(at(fault_kind::hang, 2));
  r.run();
  EXPECT_EQ(r.run(1), 10) << "steps of 100 ms";
  EXPECT_EQ(r.counters().failures[engine_failure::hang], 1U);
  EXPECT_TRUE(r.engine->hangs());
  EXPECT_EQ(r.reports.at(0), "hang: no result after 1 s");
  for (int n = 0; n < 10; ++n) {
    r.now += 1min;
    EXPECT_EQ(r.run(1), 0) << "the frame that hung is in use again";
  }
  EXPECT_EQ(r.counters().restarts.get(), 0U) << "a device that holds a frame is given no other";
  EXPECT_EQ(r.counters().frames_bypassed.get(), 11U);
  EXPECT_TRUE(r.engine->lost()) << "ten times it could not be tried";
}

TEST(supervised_engine, what_was_under_way_with_a_frame_that_hangs_still_counts) {
  rig r(at(fault_kind::hang, 1));
  r.start(0);
  r.start(1);
  r.finish(0);
  r.finish(1);
  EXPECT_EQ(r.counters().frames_bypassed.get(), 1U) << "the device did compute the second";
  EXPECT_TRUE(r.engine->bypassed());
}

TEST(supervised_engine, replaces_a_wrong_frame_and_has_each_event_checked_before_it_trusts_again) {
  rig r(at(fault_kind::wrong_bit, 2));
  r.run();
  r.run(1);
  EXPECT_EQ(r.counters().failures[engine_failure::wrong], 1U);
  EXPECT_EQ(r.counters().events_wrong.get(), 1U);
  EXPECT_EQ(r.outputs_reported, 1) << "the wrong output was there to be kept";
  EXPECT_NE(r.reports.at(0).find("does not unpack to its input"), std::string::npos);
  r.now += 1s;
  r.run(1);
  EXPECT_FALSE(r.engine->bypassed());
}

TEST(supervised_engine, replaces_a_frame_whose_device_rejected_an_event_or_changed_its_tables) {
  for (const bool tables : {false, true}) {
    rig r(tables ? fault_plan{} : at(fault_kind::wrong_decision, 1));
    r.acts.tables_changed = tables;
    r.run();
    EXPECT_EQ(r.counters().failures[engine_failure::wrong], 1U);
    EXPECT_EQ(r.counters().frames_bypassed.get(), 1U);
    EXPECT_NE(r.reports.at(0).find(tables ? "the tables changed" : "no selection rejects events"),
              std::string::npos)
        << r.reports.at(0);
    EXPECT_TRUE(r.engine->bypassed());
  }
}

TEST(supervised_engine, computes_on_the_cpu_beside_the_waiting_thread) {
  rig r(from(fault_kind::error, 1));
  std::promise<void> may_compute;
  r.of_cpu.starts = [waits = may_compute.get_future().share()] { waits.wait(); };
  r.start(0);
  r.start(1);
  frame& first = *r.engine->frames()[0];
  frame& second = *r.engine->frames()[1];
  EXPECT_EQ(r.engine->wait_for(first, 0ns), frame_outcome::not_yet) << "it failed just now";
  EXPECT_EQ(r.engine->wait_for(second, 0ns), frame_outcome::not_yet) << "one after the other";
  EXPECT_EQ(r.counters().failures[engine_failure::error], 2U);
  may_compute.set_value();
  r.finish(0);
  r.finish(1);
  EXPECT_EQ(r.counters().frames_bypassed.get(), 2U);
}

TEST(supervised_engine, wants_frames_for_the_device_and_for_a_try) {
  rig r(at(fault_kind::error, 1));
  EXPECT_TRUE(r.engine->wants_frames());
  r.run();
  EXPECT_FALSE(r.engine->wants_frames());
  r.now += 1s;
  EXPECT_TRUE(r.engine->wants_frames()) << "a try is due";
  r.start(1);
  EXPECT_FALSE(r.engine->wants_frames()) << "one is enough";
  r.finish(1);
  EXPECT_TRUE(r.engine->wants_frames());
}

TEST(supervised_engine, lets_others_go_on_while_the_driver_takes_its_time) {
  rig r(at(fault_kind::error, 2));
  r.start(0);
  r.run(1);
  r.now += 1s;
  r.acts.restarts = [&] {
    std::jthread drains(
        [&] { r.finish(0); }); // and is joined here: the driver has not answered yet
  };
  r.run(2);
  EXPECT_FALSE(r.engine->bypassed());
}

TEST(supervised_engine, checks_every_event_of_a_trial_however_few_it_samples) {
  rig r(at(fault_kind::error, 1), 1'000'000'000);
  r.run();
  EXPECT_EQ(r.counters().events_verified.get(), 0U);
  r.now += 1s;
  r.run();
  EXPECT_EQ(r.counters().events_verified.get(), events.size());
  r.run();
  EXPECT_EQ(r.counters().events_verified.get(), events.size());
}

TEST(supervised_engine, does_not_believe_results_that_cannot_be) {
  rig r({}, 0);
  r.acts.astray = true;
  r.run();
  EXPECT_EQ(r.counters().failures[engine_failure::wrong], 1U);
  EXPECT_NE(r.reports.at(0).find("lies outside the output"), std::string::npos);
  EXPECT_TRUE(r.engine->bypassed());
}

TEST(supervised_engine, waits_longer_each_time) {
  rig r(every(fault_kind::error, 1));
  std::vector<std::chrono::nanoseconds> pauses;
  auto last = r.now;
  for (int tenth = 0; tenth < 900; ++tenth) {
    const std::uint64_t before = r.counters().failures[engine_failure::error];
    r.run(static_cast<std::uint32_t>(tenth) % 3);
    if (r.counters().failures[engine_failure::error] != before) {
      pauses.push_back(r.now - last);
      last = r.now;
    }
    r.now += 100ms;
  }
  EXPECT_EQ(pauses, (std::vector<std::chrono::nanoseconds>{0s, 1s, 2s, 4s, 8s, 16s, 32s}));
  EXPECT_EQ(r.counters().restarts.get(), 6U);
  EXPECT_TRUE(r.engine->bypassed());
}

TEST(supervised_engine, a_dead_device_cannot_be_restarted) {
  rig r(from(fault_kind::dead, 2));
  r.run();
  r.run();
  for (int n = 0; n < 10; ++n) {
    r.now += 1min;
    r.run();
  }
  EXPECT_EQ(r.counters().restarts.get(), 10U) << "one a minute";
  EXPECT_EQ(r.counters().failures[engine_failure::error], 1U);
  EXPECT_EQ(r.counters().frames_bypassed.get(), 11U);
  EXPECT_NE(r.notes.at(1).find("could not be restarted: no device any more"), std::string::npos);
  EXPECT_TRUE(r.engine->lost()) << "its tries are used up";
  EXPECT_NE(r.notes.back().find("only a restart of the daemon"), std::string::npos);
  r.now += 1min;
  r.run();
  EXPECT_EQ(r.counters().restarts.get(), 10U);
  EXPECT_FALSE(r.engine->wants_frames());
}

TEST(supervised_engine, starts_no_frame_whose_restart_failed) {
  rig r(at(fault_kind::no_restart, 1));
  r.run(0);
  r.now += 1s;
  r.run(1); // its restart fails
  EXPECT_TRUE(r.engine->bypassed());
  EXPECT_NE(r.notes.at(1).find("no queue can be made"), std::string::npos);
  r.now += 2s;
  r.run(2);
  EXPECT_FALSE(r.engine->bypassed());
  r.run(1);
  EXPECT_EQ(r.counters().failures[engine_failure::error], 1U) << r.reports.back();
  EXPECT_FALSE(r.engine->bypassed());
  EXPECT_EQ(r.counters().frames_bypassed.get(), 2U) << "it was restarted on the way";
}

TEST(supervised_engine, says_that_the_device_may_still_read_a_frame) {
  rig r(at(fault_kind::stall, 1, 50ms)); // of real time
  r.run();
  const frame& f = *r.engine->frames()[0];
  EXPECT_TRUE(r.engine->reads_input(f));
  while (!r.engine->at_rest(f)) std::this_thread::yield();
  EXPECT_FALSE(r.engine->reads_input(f));
  r.now += 1s;
  r.run();
  EXPECT_FALSE(r.engine->bypassed()) << "it trusts a device that has let go";

  rig hanging(at(fault_kind::hang, 1));
  hanging.run();
  EXPECT_FALSE(hanging.engine->reads_input(*hanging.engine->frames()[0])) << "it has its copy";
}

TEST(supervised_engine, waits_shortly_again_once_the_device_has_worked_for_a_minute) {
  rig r(every(fault_kind::error, 2));
  r.run();
  for (int breakdown = 0; breakdown < 4; ++breakdown) {
    r.now += 1min;
    r.run();
    ASSERT_TRUE(r.engine->bypassed()) << breakdown;
    r.now += 1s;
    r.run(); // the trial: an odd frame
    ASSERT_FALSE(r.engine->bypassed()) << breakdown;
  }
  r.run();
  r.now += 1s;
  r.run();
  EXPECT_TRUE(r.engine->bypassed()) << "it failed at once";
}

// A device that comes back long after its frame was given up, played by a device whose streams are
// threads: it writes into the frame's output while others use the frame, and does no harm.
TEST(late_device, writes_into_a_frame_that_others_use_and_does_no_harm) {
  const auto first = make_events(6, 3, 4, 23);
  const std::vector<made_event> second(first.rbegin(), first.rend());
  engine_limits limits{capacity_for(first, 1400), 2};
  std::vector<std::shared_ptr<stream_control>> streams;
  auto device = std::make_unique<basic_engine<stream_queue<serial_queue>, packing_plan<keep_all>>>(
      "stream", limits, [&] {
        streams.push_back(std::make_shared<stream_control>());
        return stream_queue<serial_queue>(serial_queue(), streams.back());
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
  const auto wait = [&] {
    frame_outcome outcome;
    while ((outcome = e.wait_for(f, 1ms)) == frame_outcome::not_yet) {
    }
    return outcome;
  };
  ASSERT_EQ(wait(), frame_outcome::done);
  expect_output(f, first, all);

  EXPECT_TRUE(e.reads_input(f)) << "it has not even copied it";
  constexpr int copies_and_mark = 3;
  streams[0]->let(copies_and_mark);
  while (e.reads_input(f)) std::this_thread::yield();

  // The receivers have it again, and the next batch is computed while the device wakes up.
  fill(f, second, 1400, r);
  now += 1h;
  e.start(f);
  ASSERT_EQ(wait(), frame_outcome::done);
  EXPECT_EQ(e.counters().restarts.get(), 0U);
  streams[0]->release();
  while (!e.at_rest(f)) std::this_thread::yield();
  EXPECT_NE(f.output_memory[0], std::byte{0xa5}) << "the device did write";
  expect_output(f, second, all);

  // The device has released the frame: it is tried again, on a new queue.
  fill(f, first, 1400, r);
  now += 1h;
  e.start(f);
  EXPECT_EQ(e.counters().restarts.get(), 1U);
  ASSERT_EQ(wait(), frame_outcome::done);
  expect_output(f, first, all);
  EXPECT_FALSE(e.bypassed());
}

} // namespace
} // namespace l3::test
