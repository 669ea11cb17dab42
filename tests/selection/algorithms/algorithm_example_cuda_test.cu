// SPDX-License-Identifier: Apache-2.0
// The example of docs/adding-an-algorithm.md on a device.
#include "gpu/executors/cuda.cuh"
#include "tests/gpu/executors/device.hpp"
#include "tests/selection/algorithms/algorithm_example.hpp"

namespace l3::test {

struct on_device {
  static std::string why_not() { return why_no_device_here(cuda::why_no_device()); }
  static cuda_queue make() { return {}; }
};
INSTANTIATE_TYPED_TEST_SUITE_P(cuda, early_crystals, on_device);

} // namespace l3::test
