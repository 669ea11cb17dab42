// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/executors/on_sycl.hpp"

#include "tests/selection/algorithms/algorithm_example.hpp"

namespace l3::test {

INSTANTIATE_TYPED_TEST_SUITE_P(sycl, early_crystals, on_sycl);

} // namespace l3::test
