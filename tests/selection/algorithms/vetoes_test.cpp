// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/executors/cpu_executors.hpp"
#include "tests/selection/algorithms/judge_vetoes_cases.hpp"
#include "tests/selection/algorithms/match_ends_cases.hpp"

namespace l3::test {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(cpu, matching, cpu_executors);
INSTANTIATE_TYPED_TEST_SUITE_P(cpu, judging, cpu_executors);

} // namespace
} // namespace l3::test
