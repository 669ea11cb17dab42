// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/executors/on_device.cuh"

#include "tests/gpu/decode/decode_cases.hpp"
#include "tests/gpu/decode/swap_cases.hpp"

namespace l3::test {

INSTANTIATE_TYPED_TEST_SUITE_P(cuda, decoder, on_device);
INSTANTIATE_TYPED_TEST_SUITE_P(cuda, swapping, on_device);

} // namespace l3::test
