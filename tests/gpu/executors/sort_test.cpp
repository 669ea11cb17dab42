// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/executors/cpu_executors.hpp"
#include "tests/gpu/executors/sort_cases.hpp"

namespace l3::test {
namespace {

using all = testing::Types<on_serial<1>, on_serial<7>, on_serial<128>, on_serial<1024>,
                           on_shuffled<32>, on_threaded<3>, on_threaded<32>, on_pool<3>>;
INSTANTIATE_TYPED_TEST_SUITE_P(cpu, block_sort, all);

} // namespace
} // namespace l3::test
