// SPDX-License-Identifier: Apache-2.0
// What libFuzzer, or run_inputs.cpp, calls for each input.
#include "tests/fuzz/targets/fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  l3::test::fuzz_input in(data, bytes);
  l3::test::fuzz(in);
  return 0;
}
