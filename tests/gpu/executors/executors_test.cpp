// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include <sched.h>

#include "gpu/memory/numa.hpp"
#include "tests/gpu/decode/swap_cases.hpp"
#include "tests/gpu/executors/cpu_executors.hpp"
#include "tests/gpu/executors/executor_cases.hpp"
#include "tests/gpu/executors/sort_cases.hpp"

namespace l3::test {
namespace {

using all = testing::Types<on_serial<1>, on_serial<32>, on_serial<256>, on_shuffled<1>,
                           on_shuffled<32>, on_shuffled<256>, on_threaded<1>, on_threaded<5>,
                           on_threaded<32>, on_pool<1>, on_pool<2>, on_pool<5>>;
INSTANTIATE_TYPED_TEST_SUITE_P(cpu, executors, all);
INSTANTIATE_TYPED_TEST_SUITE_P(cpu, swapping, cpu_executors);

using sorting = testing::Types<on_serial<1>, on_serial<7>, on_serial<128>, on_serial<1024>,
                               on_shuffled<32>, on_threaded<3>, on_threaded<32>, on_pool<3>>;
INSTANTIATE_TYPED_TEST_SUITE_P(cpu, block_sort, sorting);

TEST(shuffled_executor, shuffles) {
  std::mt19937_64 random(1);
  std::vector<std::uint32_t> order;
  for_each(shuffled_block(0, 32, random), 100, [&](std::uint32_t i) { order.push_back(i); });
  EXPECT_FALSE(std::is_sorted(order.begin(), order.end()));
  std::sort(order.begin(), order.end());
  for (std::uint32_t i = 0; i < 100; ++i) EXPECT_EQ(order[i], i);
}

TEST(serial_executor, takes_the_lanes_in_turn) {
  std::vector<std::uint32_t> order;
  for_each(serial_block(0, 4), 10, [&](std::uint32_t i) { order.push_back(i); });
  EXPECT_EQ(order, (std::vector<std::uint32_t>{0, 4, 8, 1, 5, 9, 2, 6, 3, 7}));
}

TEST(thread_pool, uses_all_its_threads) {
  thread_pool pool(4);
  EXPECT_EQ(pool.threads(), 4U);
  std::mutex mutex;
  std::condition_variable all_here;
  std::set<std::thread::id> seen;
  pool.run(4, [&](std::uint32_t first, std::uint32_t last) {
    ASSERT_EQ(last, first + 1);
    std::unique_lock lock(mutex);
    seen.insert(std::this_thread::get_id());
    all_here.notify_all();
    all_here.wait(lock, [&] { return seen.size() == 4; }); // no thread can take two blocks
  });
  EXPECT_EQ(seen.size(), 4U);
}

TEST(thread_pool, has_a_thread_for_each_processor_that_it_may_use) {
  std::jthread([] {
    run_on(std::vector{sched_getcpu()});
    EXPECT_EQ(thread_pool(0).threads(), 1U);
  });
}

TEST(thread_pool, covers_every_block_once_for_many_sizes) {
  thread_pool pool(3);
  for (std::uint32_t blocks = 0; blocks < 300; ++blocks) {
    std::vector<std::atomic<int>> seen(blocks);
    pool.run(blocks, [&](std::uint32_t first, std::uint32_t last) {
      for (std::uint32_t i = first; i < last; ++i) ++seen[i];
    });
    for (const auto& n : seen) ASSERT_EQ(n, 1);
  }
}

TEST(thread_pool, serves_several_launchers) {
  thread_pool pool(2);
  std::atomic<std::uint64_t> sum = 0;
  {
    std::vector<std::jthread> launchers;
    for (int t = 0; t < 3; ++t) {
      launchers.emplace_back([&] {
        for (int k = 0; k < 50; ++k) {
          pool.run(40, [&](std::uint32_t first, std::uint32_t last) { sum += last - first; });
        }
      });
    }
  }
  EXPECT_EQ(sum, 3U * 50 * 40);
}

} // namespace
} // namespace l3::test
