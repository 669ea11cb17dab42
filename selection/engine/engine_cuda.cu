// SPDX-License-Identifier: Apache-2.0
#include "gpu/executors/cuda.cuh"
#include "selection/engine/engine_on.hpp"
#include "selection/engine/make_engine.hpp"

namespace l3 {

std::string why_no_cuda() { return cuda::why_no_device(); }

std::unique_ptr<engine> make_cuda_engine(const engine_limits& limits,
                                         const selection_program* program) {
  return make_engine_on(
      "cuda (" + cuda::device_name() + ")", limits, [] { return cuda_queue(); }, nullptr, program);
}

} // namespace l3
