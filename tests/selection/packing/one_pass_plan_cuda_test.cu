// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/executors/portable_forms.cuh"

#include "tests/selection/packing/look_back_cases.hpp"
#include "tests/selection/packing/one_pass_plan_cases.hpp"

template <>
inline constexpr bool l3::can_encode<l3::test::portable_queue> = false;

namespace l3::test {

INSTANTIATE_TYPED_TEST_SUITE_P(cuda, both_forms, on_device);
INSTANTIATE_TYPED_TEST_SUITE_P(cuda_portable, both_forms, on_device_portably);
INSTANTIATE_TYPED_TEST_SUITE_P(cuda, looking_back, on_device);

} // namespace l3::test
