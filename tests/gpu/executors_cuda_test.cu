// SPDX-License-Identifier: Apache-2.0
#include "gpu/cuda/queue.cuh"
#include "tests/gpu/device.hpp"
#include "tests/gpu/executor_cases.hpp"

namespace l3::test {

struct on_device {
  static std::string why_not() { return why_no_device_here(cuda::why_no_device()); }
  static cuda_queue make() { return {}; }
};
INSTANTIATE_TYPED_TEST_SUITE_P(cuda, executors, on_device);

/// Reads where nothing is.
struct stray {
  static constexpr std::uint32_t width = 1;
  struct shared {};
  template <block B>
  L3_FN void operator()(const B&, shared&, std::uint32_t* nowhere) const {
    *nowhere = 1;
  }
};

TEST(zz_cuda_queue, tells_a_fault_and_does_not_abort) { // last: a faulted device stays so
  if (const std::string why_not = on_device::why_not(); !why_not.empty()) GTEST_SKIP() << why_not;
  cuda_queue queue;
  queue.run(stray{}, 1, reinterpret_cast<std::uint32_t*>(std::uintptr_t{64}));
  EXPECT_NE(queue.finish(), "");
  EXPECT_NE(queue.finish(), "");
}

} // namespace l3::test
