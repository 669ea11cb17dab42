// SPDX-License-Identifier: Apache-2.0
// Two devices, of which the first fails: the frames of the second go on there.
#include "daemon/compute/spread_engine.hpp"

#include <gtest/gtest.h>

#include "tests/selection/engine/make_events.hpp"

namespace l3::test {
namespace {

using namespace std::chrono_literals;

const auto events = make_events(6, 3, 4, 23);

struct rig {
  explicit rig(fault_kind kind, std::size_t devices) {
    compute_settings s{backend::serial, 0};
    s.fault = {kind, 0, 0, 1, 0ns};
    for (std::uint16_t d = 0; d < devices; ++d) s.devices.push_back(d);
    engine_limits limits{capacity_for(events, 1400), 3};
    auto made = make_engines(s, limits);
    limits.frames = 1;
    limits.own_input = false;
    supervision v;
    v.verify_one_in = 1;
    v.now = [this] { return now; };
    std::vector<std::unique_ptr<supervised_engine>> all;
    for (auto& device : made) {
      all.push_back(std::make_unique<supervised_engine>(
          std::move(device), make_engine({backend::serial, 0}, limits), v,
          [](engine_failure, std::string_view, const frame&) {}, [](std::string_view) {}));
    }
    for (const auto& one : all) parts.push_back(one.get());
    engine.emplace(std::move(all));
  }

  void run(std::uint32_t index) {
    frame& f = *engine->frames()[index];
    fill(f, events, 1400, random);
    engine->start(f);
    frame_outcome outcome;
    while ((outcome = engine->wait_for(f, 1ms)) == frame_outcome::not_yet) now += 100ms;
    ASSERT_EQ(outcome, frame_outcome::done) << f.error;
    expect_output(f, events, all);
  }

  time_point now{1000s};
  std::vector<const supervised_engine*> parts;
  std::optional<spread_engine> engine;
  randomness random{1};
};

TEST(spread_engine, deals_the_frames_to_the_devices_in_turn) {
  const rig r(fault_kind::error, 3);
  ASSERT_EQ(r.engine->frames().size(), 9U);
  for (std::uint32_t n = 0; n < 9; ++n) {
    EXPECT_EQ(r.engine->frames()[n]->index, n);
    EXPECT_EQ(r.engine->frames()[n], r.parts[n % 3]->frames()[n / 3]);
  }
}

TEST(spread_engine, lets_each_device_fail_by_itself) {
  for (const fault_kind kind : {fault_kind::error, fault_kind::lost, fault_kind::hang}) {
    rig r(kind, 2);
    for (std::uint32_t n = 0; n < 12; ++n) ASSERT_NO_FATAL_FAILURE(r.run(n % 6));
    EXPECT_EQ(r.parts[0]->counters().frames_bypassed.get(), 6U);
    EXPECT_EQ(r.parts[1]->counters().frames_bypassed.get(), 0U);
    EXPECT_EQ(r.engine->counters().failures.sum(), 1U);
    EXPECT_EQ(r.engine->lost(), kind == fault_kind::lost);
    EXPECT_EQ(r.engine->hangs(), kind == fault_kind::hang);
    EXPECT_FALSE(r.parts[1]->bypassed());
  }
}

TEST(spread_engine, is_one_engine_where_there_is_one) {
  rig r(fault_kind::error, 1);
  for (std::uint32_t n = 0; n < 3; ++n) ASSERT_NO_FATAL_FAILURE(r.run(n));
  EXPECT_EQ(r.engine->name(), r.parts[0]->name());
  EXPECT_EQ(r.engine->memory_plan().size(), r.parts[0]->memory_plan().size());
  EXPECT_TRUE(r.engine->bypassed());
}

} // namespace
} // namespace l3::test
