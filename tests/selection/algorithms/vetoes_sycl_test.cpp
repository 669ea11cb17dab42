// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/executors/on_sycl.hpp"

#include "tests/selection/algorithms/judge_vetoes_cases.hpp"
#include "tests/selection/algorithms/match_ends_cases.hpp"

namespace l3::test {

INSTANTIATE_TYPED_TEST_SUITE_P(sycl, matching, on_sycl);
INSTANTIATE_TYPED_TEST_SUITE_P(sycl, judging, on_sycl);

} // namespace l3::test
