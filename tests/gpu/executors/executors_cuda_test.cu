// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/executors/on_device.cuh"

#include <thread>

#include "bench/decode/swap_in.cuh"
#include "tests/gpu/decode/swap_cases.hpp"
#include "tests/gpu/executors/executor_cases.hpp"
#include "tests/gpu/executors/sort_cases.hpp"

namespace l3::test {

INSTANTIATE_TYPED_TEST_SUITE_P(cuda, executors, on_device);
INSTANTIATE_TYPED_TEST_SUITE_P(cuda, swapping, on_device);
INSTANTIATE_TYPED_TEST_SUITE_P(cuda, block_sort, on_device);

/// Ends when the host writes a word, or after `patience` reads; it reports which came first.
struct wait_for_host {
  static constexpr std::uint32_t width = 1;
  static constexpr std::uint32_t patience = 1U << 22; // reads over the bus: some seconds
  struct shared {};
  template <block B>
  L3_FN void operator()(const B&, shared&, volatile std::uint32_t* go, std::uint32_t* seen) const {
    std::uint32_t turns = 0;
    while (*go == 0 && turns < patience) ++turns;
    *seen = *go;
  }
};

TEST(cuda_queue, waits_for_no_other) {
  if (const std::string why_not = on_device::why_not(); !why_not.empty()) GTEST_SKIP() << why_not;
  const buffer memory = cuda_memory::allocate(2 * sizeof(std::uint32_t));
  auto* const host = reinterpret_cast<std::uint32_t*>(memory.data());
  auto* const mapped = reinterpret_cast<std::uint32_t*>(cuda_memory::on_device(memory.data()));
  volatile std::uint32_t* const go = host;
  cuda_queue waiting;
  cuda_queue other;
  const reachable<std::uint32_t, cuda_queue> counted(other, 1);
  const auto run_both = [&] {
    waiting.run(wait_for_host{}, 1, mapped, mapped + 1);
    waiting.submit();
    other.run(visit{}, 1, 1U, counted.view());
    EXPECT_EQ(other.finish(), "");
  };
  *go = 1;
  run_both(); // loads both kernels; loading may wait for all other work
  EXPECT_EQ(waiting.finish(), "");
  *go = 0;
  run_both();
  *go = 1;
  EXPECT_EQ(waiting.finish(), "");
  EXPECT_EQ(host[1], 1U) << "the other queue was done only when this one had lost its patience";
  EXPECT_EQ(counted.read()[0], 2U);
}

TEST(cuda_queue, is_finished_by_another_thread) {
  if (const std::string why_not = on_device::why_not(); !why_not.empty()) GTEST_SKIP() << why_not;
  constexpr std::uint32_t n = 1000;
  const buffer memory = cuda_memory::allocate(n * sizeof(std::uint32_t));
  const auto* const host = reinterpret_cast<const std::uint32_t*>(memory.data());
  auto* const mapped = reinterpret_cast<std::uint32_t*>(cuda_memory::on_device(memory.data()));
  cuda_queue queue;
  queue.stage("visit");
  queue.run(visit{}, 1, n, column<std::uint32_t>(mapped, n));
  queue.submit();
  std::jthread([&] { EXPECT_EQ(queue.finish(), ""); }).join();
  for (std::uint32_t i = 0; i < n; ++i) ASSERT_EQ(host[i], i + 1) << "written by the kernel";
}

/// Writes to an address without memory.
struct stray {
  static constexpr std::uint32_t width = 1;
  struct shared {};
  template <block B>
  L3_FN void operator()(const B&, shared&, std::uint32_t* nowhere) const {
    *nowhere = 1;
  }
};

TEST(zz_cuda_queue, tells_a_fault_and_does_not_abort) { // last, because a fault disables the device
                                                        // for this process
  if (const std::string why_not = on_device::why_not(); !why_not.empty()) GTEST_SKIP() << why_not;
  cuda_queue queue;
  queue.run(stray{}, 1, reinterpret_cast<std::uint32_t*>(std::uintptr_t{64}));
  EXPECT_NE(queue.finish(), "");
  EXPECT_NE(queue.finish(), "");
}

} // namespace l3::test
