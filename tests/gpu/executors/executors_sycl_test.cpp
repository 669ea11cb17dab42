// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/executors/on_sycl.hpp"

#include "tests/gpu/decode/swap_cases.hpp"
#include "tests/gpu/executors/executor_cases.hpp"
#include "tests/gpu/executors/sort_cases.hpp"

namespace l3::test {

INSTANTIATE_TYPED_TEST_SUITE_P(sycl, executors, on_sycl);
INSTANTIATE_TYPED_TEST_SUITE_P(sycl, swapping, on_sycl);
INSTANTIATE_TYPED_TEST_SUITE_P(sycl, block_sort, on_sycl);

} // namespace l3::test
