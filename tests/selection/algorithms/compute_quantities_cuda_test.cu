// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/executors/on_device.cuh"

#include "tests/selection/algorithms/compute_quantities_cases.hpp"

namespace l3::test {

INSTANTIATE_TYPED_TEST_SUITE_P(cuda, measuring, on_device);

} // namespace l3::test
