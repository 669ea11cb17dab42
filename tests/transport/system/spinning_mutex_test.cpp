// SPDX-License-Identifier: Apache-2.0
#include "transport/system/threads.hpp"

#include <chrono>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace {

using namespace std::chrono_literals;

TEST(spinning_mutex, lets_one_thread_in_at_a_time) {
  constexpr int threads = 4;
  constexpr int turns = 20'000;
  l3::spinning_mutex mutex;
  std::uint64_t sum = 0; // not atomic: a second thread inside would lose some
  {
    std::vector<std::jthread> all;
    for (int t = 0; t < threads; ++t)
      all.emplace_back([&] {
        for (int i = 0; i < turns; ++i) {
          const std::lock_guard lock(mutex);
          ++sum;
        }
      });
  }
  EXPECT_EQ(sum, std::uint64_t{threads} * turns);
}

// A wake-up that is lost leaves a thread asleep: the test would not end.
TEST(spinning_mutex, wakes_every_thread_that_sleeps) {
  constexpr int threads = 4;
  l3::spinning_mutex mutex;
  for (int turn = 0; turn < 20; ++turn) {
    int entered = 0;
    {
      std::vector<std::jthread> all;
      std::unique_lock lock(mutex);
      for (int t = 0; t < threads; ++t)
        all.emplace_back([&] {
          const std::lock_guard inside(mutex);
          ++entered;
          std::this_thread::sleep_for(1ms); // the others go to sleep again
        });
      std::this_thread::sleep_for(2ms);
    }
    EXPECT_EQ(entered, threads);
  }
}

} // namespace
