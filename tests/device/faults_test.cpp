// SPDX-License-Identifier: Apache-2.0
// What goes wrong on a device and on none of the CPU executors, on the imagined device: calls of
// the runtime that fail, errors that last, work that is still queued. The engine and its kernels
// are those of the programs.
#include <optional>
#include <set>

#include <gtest/gtest.h>

#include "daemon/compute/supervised_engine.hpp"
#include "selection/engine/make_engine.hpp"
#include "tests/device/imagined_device.hpp"
#include "tests/selection/engine/make_events.hpp"

namespace l3::test {
namespace {

using namespace std::chrono_literals;

constexpr int out_of_resources = 701; ///< of one launch
constexpr int out_of_memory = 2;

ptx::imagined_device& device() { return ptx::imagined_device::the_only_one(); }

const auto events = make_events(6, 3, 4, 23);

class device_faults : public testing::Test {
protected:
  device_faults() {
    engine_limits limits{capacity_for(events, 1400), 2};
    auto on_device = make_cuda_engine(limits, nullptr);
    limits.frames = 1;
    limits.own_input = false;
    supervision s;
    s.verify_one_in = 1;
    s.now = [this] { return now; };
    supervised.emplace(
        std::move(on_device), make_serial_engine(limits, nullptr), s,
        [this](engine_failure kind, std::string_view text, const frame&) {
          reports.push_back(std::string(name_of(kind)) + ": " + std::string(text));
        },
        [this](std::string_view text) { notes.emplace_back(text); });
  }
  ~device_faults() override {
    device().errors.forget();
    device().all_streams.open();
    device().mend();
  }

  frame& start(std::uint32_t index) {
    frame& f = *supervised->frames()[index];
    fill(f, events, 1400, random);
    supervised->start(f);
    return f;
  }
  void finish(frame& f) {
    frame_outcome outcome;
    while ((outcome = supervised->wait_for(f, 1ms)) == frame_outcome::not_yet) {
    }
    ASSERT_EQ(outcome, frame_outcome::done) << f.error;
    expect_output(f, events, all);
  }
  void run(std::uint32_t index) { finish(start(index)); }

  time_point now{1000s};
  std::vector<std::string> reports;
  std::vector<std::string> notes;
  randomness random{1};
  std::optional<supervised_engine> supervised;
};

TEST_F(device_faults, a_failed_launch_is_told_when_the_work_before_it_has_ended) {
  device().all_streams.close();
  device().errors.plan("cudaLaunchKernel", out_of_resources, 2);
  frame& f = start(0);
  EXPECT_EQ(supervised->wait_for(f, 1ms), frame_outcome::not_yet)
      << "two copies and two kernels wait in the stream";
  device().all_streams.open();
  finish(f);
  EXPECT_EQ(reports, std::vector<std::string>{"error: too many resources requested for launch"});
  now += 1s;
  run(0);
  EXPECT_FALSE(supervised->bypassed());
}

TEST_F(device_faults, a_frame_whose_queue_cannot_be_made_anew_waits_for_one) {
  device().errors.plan("cudaLaunchKernel", out_of_resources);
  run(0);
  now += 1s;
  device().errors.plan("cudaStreamCreateWithFlags", out_of_memory);
  run(1);
  EXPECT_NE(notes.back().find("the device is tried again"), std::string::npos);
  now += 2s;
  run(0);
  EXPECT_FALSE(supervised->bypassed());
  run(1);
  EXPECT_EQ(supervised->counters().frames_bypassed.get(), 2U);
}

TEST_F(device_faults, a_graph_that_is_refused_fails_one_frame) {
  const auto fails_once = [&](const char* call) {
    SCOPED_TRACE(call);
    reports.clear();
    device().errors.plan(call, out_of_memory);
    run(0);
    EXPECT_EQ(reports, std::vector<std::string>{"error: out of memory"});
    now += 1min;
    reports.clear();
    run(0);
    EXPECT_TRUE(reports.empty());
    EXPECT_FALSE(supervised->bypassed());
  };
  for (const char* call :
       {"cudaSetDevice", "cudaStreamBeginCapture", "cudaStreamEndCapture", "cudaGraphLaunch"})
    fails_once(call);
  device().errors.plan("cudaGraphExecUpdate", out_of_memory); // the graph is made anew
  run(0);
  EXPECT_TRUE(reports.empty());
  EXPECT_FALSE(supervised->bypassed());
  device().errors.plan("cudaGraphExecUpdate", out_of_memory);
  fails_once("cudaGraphInstantiate");
}

TEST_F(device_faults, an_error_that_lasts_is_not_met_with_restarts) {
  run(0);
  device().fail("planned by a test");
  for (std::uint32_t n = 0; n < 20; ++n) {
    run(n % 2);
    now += 10s;
  }
  EXPECT_EQ(supervised->counters().restarts.get(), 0U);
  EXPECT_EQ(supervised->counters().failures[engine_failure::error], 1U);
  EXPECT_TRUE(supervised->lost());
  EXPECT_NE(notes.back().find("only a restart of the daemon"), std::string::npos);
  EXPECT_FALSE(supervised->hangs());
}

class device_losses : public device_faults, public testing::WithParamInterface<int> {};

TEST_P(device_losses, are_known_by_their_code) {
  device().errors.plan("cudaLaunchKernel", GetParam());
  run(0);
  EXPECT_TRUE(supervised->lost());
}

INSTANTIATE_TEST_SUITE_P(of_the_runtime, device_losses,
                         testing::Values(3, 46, 100, 201, 700, 721, 802, 805, 806, 807));

TEST_F(device_faults, a_restart_that_meets_an_error_that_lasts_is_the_last_one) {
  device().errors.plan("cudaLaunchKernel", out_of_resources);
  run(0);
  device().fail("planned by a test");
  for (std::uint32_t n = 0; n < 20; ++n) {
    now += 10s;
    run(n % 2);
  }
  EXPECT_EQ(supervised->counters().restarts.get(), 1U);
  EXPECT_TRUE(supervised->lost());
}

TEST_F(device_faults, a_frame_that_is_given_up_is_not_refilled_before_it_is_copied) {
  constexpr int copies_and_mark = 3;
  device().all_streams.close();
  frame& f = start(0);
  now += 1s;
  finish(f);
  EXPECT_TRUE(supervised->reads_input(f));
  device().all_streams.let(copies_and_mark);
  while (supervised->reads_input(f)) std::this_thread::yield();
  EXPECT_TRUE(supervised->hangs()) << "its kernels still wait";

  // The receivers have it: garbage in tables and input, while the device computes what it copied.
  for (auto bytes :
       {std::as_writable_bytes(f.input.fragments), std::as_writable_bytes(f.input.pieces),
        std::as_writable_bytes(f.input.boards), f.input.bytes})
    std::fill(bytes.begin(), bytes.end(), std::byte{0xff});
  device().all_streams.open();
  while (supervised->hangs()) std::this_thread::yield();
  EXPECT_FALSE(device().has_failed());
  now += 1s;
  run(0);
  EXPECT_FALSE(supervised->bypassed());
}

TEST(devices, each_computes_what_its_own_queues_hold) {
  const engine_limits limits{capacity_for(events, 1400), 1};
  const auto first = make_cuda_engine(limits, nullptr, 0);
  const auto second = make_cuda_engine(limits, nullptr, 1);
  randomness random{1};
  for (int round = 0; round < 2; ++round) {
    for (engine* const e : {first.get(), second.get()}) {
      frame& f = *e->frames()[0];
      fill(f, events, 1400, random);
      e->start(f);
    }
    for (engine* const e : {first.get(), second.get()}) {
      ASSERT_TRUE(e->wait(*e->frames()[0])) << e->frames()[0]->error;
      expect_output(*e->frames()[0], events, all);
    }
  }
  ASSERT_TRUE(first->restart(*first->frames()[0])) << "with the other device in use";
  EXPECT_NE(why_no_cuda(7).find("there is no CUDA device 7, only 2"), std::string::npos);
}

TEST(devices, that_do_not_answer_are_left_out_where_all_are_asked_for) {
  std::vector<std::string> warnings;
  const auto make = [&] {
    return make_engines({backend::cuda, 0}, {capacity_for(events, 1400), 2}, nullptr,
                        [&](engine_news, std::string_view text) { warnings.emplace_back(text); });
  };
  EXPECT_EQ(make().size(), 2U);
  EXPECT_TRUE(warnings.empty());
  constexpr int in_use = 46;
  device().errors.plan("cudaMalloc", in_use); // the first that is asked
  const auto one = make();
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(one[0]->frames()[1]->index, 1U);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_TRUE(warnings[0].starts_with("device 0 is left out: another process")) << warnings[0];
  device().errors.plan("cudaMalloc", in_use, 0, true);
  EXPECT_THROW(static_cast<void>(make()), std::runtime_error);
  device().errors.forget();
}

struct refusal {
  const char* call;
  int code;
  const char* says;
};

class device_refusals : public testing::TestWithParam<refusal> {};

TEST_P(device_refusals, are_one_sentence_with_the_remedy) {
  device().errors.plan(GetParam().call, GetParam().code);
  const std::string why = why_no_cuda();
  EXPECT_NE(why.find(GetParam().says), std::string::npos) << why;
  EXPECT_EQ(why_no_cuda(), "");
}

INSTANTIATE_TEST_SUITE_P(
    of_the_runtime, device_refusals,
    testing::Values(refusal{"cudaDriverGetVersion", -1, "install NVIDIA's driver"},
                    refusal{"cudaGetDeviceCount", 35, "the driver supports CUDA"},
                    refusal{"cudaGetDeviceCount", 100, "nvidia"},
                    refusal{"cudaMalloc", 46, "exclusively: `nvidia-smi` names it"},
                    refusal{"cudaLaunchKernel", 209, "CMAKE_CUDA_ARCHITECTURES"}));

} // namespace
} // namespace l3::test
