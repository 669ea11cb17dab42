// SPDX-License-Identifier: Apache-2.0
#include "gpu/executors/cuda.cuh"
#include "tests/gpu/executors/device.hpp"
#include "tests/selection/packing/look_back_cases.hpp"
#include "tests/selection/packing/one_pass_plan_cases.hpp"

namespace l3::test {

struct on_device {
  static constexpr bool slow = false;
  static std::string why_not() { return why_no_device_here(cuda::why_no_device()); }
  static cuda_queue make() { return {}; }
};
INSTANTIATE_TYPED_TEST_SUITE_P(cuda, both_forms, on_device);
INSTANTIATE_TYPED_TEST_SUITE_P(cuda, looking_back, on_device);

} // namespace l3::test
