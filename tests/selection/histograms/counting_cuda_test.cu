// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/executors/on_device.cuh"

#include "tests/selection/histograms/counting_cases.hpp"

namespace l3::test {

INSTANTIATE_TYPED_TEST_SUITE_P(cuda, counting, on_device);

} // namespace l3::test
