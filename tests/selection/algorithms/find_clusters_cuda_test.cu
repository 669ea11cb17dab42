// SPDX-License-Identifier: Apache-2.0
#include "gpu/executors/cuda.cuh"
#include "tests/gpu/executors/device.hpp"
#include "tests/selection/algorithms/find_clusters_cases.hpp"

namespace l3::test {

struct on_device {
  static constexpr std::uint32_t random_events = 10000;
  static std::string why_not() { return why_no_device_here(cuda::why_no_device()); }
  static cuda_queue make() { return {}; }
};
INSTANTIATE_TYPED_TEST_SUITE_P(cuda, clustering, on_device);

} // namespace l3::test
