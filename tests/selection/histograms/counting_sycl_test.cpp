// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/executors/on_sycl.hpp"

#include "tests/selection/histograms/counting_cases.hpp"

namespace l3::test {

INSTANTIATE_TYPED_TEST_SUITE_P(sycl, counting, on_sycl);

} // namespace l3::test
