// SPDX-License-Identifier: Apache-2.0
#include "tests/selection/engine/cuda_engines.hpp"

#include "gpu/executors/cuda.cuh"
#include "selection/engine/basic_engine.hpp"
#include "tests/selection/engine/decisions.hpp"

namespace l3::test {

std::unique_ptr<engine> make_cuda_engine_keeping_odd(const engine_limits& limits) {
  return std::make_unique<basic_engine<cuda_queue, two_pass_plan<keep_odd_numbers>>>(
      "cuda", limits, [] { return cuda_queue(); });
}

} // namespace l3::test
