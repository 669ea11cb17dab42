// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/executors/on_device.cuh"

#include "tests/selection/algorithms/judge_vetoes_cases.hpp"
#include "tests/selection/algorithms/match_ends_cases.hpp"

namespace l3::test {

INSTANTIATE_TYPED_TEST_SUITE_P(cuda, matching, on_device);
INSTANTIATE_TYPED_TEST_SUITE_P(cuda, judging, on_device);

} // namespace l3::test
