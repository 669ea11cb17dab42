// SPDX-License-Identifier: Apache-2.0
// Faults of a real device, caused on purpose. Other tests play them: with an engine that fails
// (supervised_engine_test), and with calls of the runtime that fail (tests/device). Only this one
// shows what a driver does.
#include "tests/daemon/compute/fault_drills.hpp"

#include <future>

#include <gtest/gtest.h>

#include "daemon/compute/supervised_engine.hpp"
#include "selection/engine/make_engine.hpp"
#include "tests/gpu/executors/device.hpp"
#include "tests/selection/engine/make_events.hpp"

namespace l3::test {
namespace {

using namespace std::chrono_literals;

const auto events = make_events(6, 3, 4, 23);

class zz_fault_drills : public testing::Test {
protected:
  void SetUp() override {
    if (const std::string why_not = why_no_device_here(why_no_cuda()); !why_not.empty())
      GTEST_SKIP() << why_not;
    engine_limits limits{capacity_for(events, 1400), 2};
    auto on_device = make_cuda_engine(limits, nullptr);
    limits.frames = 1;
    limits.own_input = false;
    supervision s;
    s.time_limit = 200ms;
    s.first_pause = 10ms;
    s.verify_one_in = 1;
    supervised.emplace(
        std::move(on_device), make_serial_engine(limits, nullptr), s,
        [](engine_failure kind, std::string_view text, const frame&) {
          std::printf("%s: %s\n", name_of(kind).data(), std::string(text).c_str());
        },
        [](std::string_view text) { std::printf("%s\n", std::string(text).c_str()); });
  }
  void run(std::uint32_t index) {
    frame& f = *supervised->frames()[index];
    fill(f, events, 1400, random);
    supervised->start(f);
    frame_outcome outcome;
    while ((outcome = supervised->wait_for(f, 1ms)) == frame_outcome::not_yet) {
    }
    ASSERT_EQ(outcome, frame_outcome::done) << f.error;
    expect_output(f, events, all);
  }

  randomness random{1};
  std::optional<supervised_engine> supervised;
};

TEST_F(zz_fault_drills, a_kernel_that_hangs_is_bypassed_and_the_device_is_used_again) {
  run(0);
  hung_kernels hung;
  run(0);
  EXPECT_EQ(supervised->counters().failures[engine_failure::hang], 1U);
  EXPECT_TRUE(supervised->bypassed());
  EXPECT_TRUE(supervised->hangs());
  EXPECT_FALSE(supervised->reads_input(*supervised->frames()[0])) << "copies go on without it";
  run(1);
  hung.release();
  while (supervised->bypassed()) run(1);
  EXPECT_FALSE(supervised->hangs());
  run(0);
  EXPECT_FALSE(supervised->bypassed());
}

/// Decision 34 left this open. A start that waits for the hung kernels keeps the compute thread
/// from the frames of other devices.
TEST_F(zz_fault_drills, a_graph_is_made_beside_kernels_that_hang) {
  const auto e = make_cuda_engine({capacity_for(events, 1400), 2}, nullptr);
  const std::vector<made_event> empty(1);
  hung_kernels hung;
  frame& other_kernels = *e->frames()[0]; // none for boards
  fill(other_kernels, empty, 1400, random);
  auto started = std::async(std::launch::async, [&] { e->start(other_kernels); });
  EXPECT_EQ(started.wait_for(30s), std::future_status::ready) << "it waits for the hung kernels";
  EXPECT_EQ(e->wait_for(other_kernels, 0ns), frame_outcome::not_yet);
  hung.release();
  started.get();
  EXPECT_TRUE(e->wait(other_kernels)) << other_kernels.error;
}

/// The last case of the program: nothing can use the device afterwards. A daemon then ends with
/// exit code 75, as the fault suite shows with an engine that says so.
TEST_F(zz_fault_drills, zzz_a_device_that_trapped_is_lost_to_the_process) {
  run(0);
  trap_the_device();
  run(0);
  EXPECT_EQ(supervised->counters().failures[engine_failure::error], 1U);
  EXPECT_TRUE(supervised->lost());
  run(1);
  EXPECT_EQ(supervised->counters().restarts.get(), 0U);
}

} // namespace
} // namespace l3::test
