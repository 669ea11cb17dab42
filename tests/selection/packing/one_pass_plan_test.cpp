// SPDX-License-Identifier: Apache-2.0
#include "tests/selection/packing/one_pass_plan_cases.hpp"

#include "tests/gpu/executors/cpu_executors.hpp"

namespace l3::test {
namespace {

using on_cpu = testing::Types<on_serial<1>, on_serial<128>, on_shuffled<32>, on_threaded<3>,
                              on_pool<1>, on_pool<3>, on_pool<9>>;
INSTANTIATE_TYPED_TEST_SUITE_P(cpu, both_forms, on_cpu);

} // namespace
} // namespace l3::test
