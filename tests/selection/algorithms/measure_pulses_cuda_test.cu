// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/executors/portable_forms.cuh"

#include "tests/selection/algorithms/measure_pulses_cases.hpp"

namespace l3::test {

INSTANTIATE_TYPED_TEST_SUITE_P(cuda, measuring_pulses, on_device);
INSTANTIATE_TYPED_TEST_SUITE_P(cuda_portable, measuring_pulses, on_device_portably);

} // namespace l3::test
