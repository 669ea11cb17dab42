// SPDX-License-Identifier: Apache-2.0
#include "gpu/executors/cuda.cuh" // first: device forms of kernels need its block

#include "bench/selection/select_stand.hpp"

namespace l3::bench {

select_runner make_cuda_select_runner(const select_batch& batch, const selection_program& program,
                                      const select_expected& expected) {
  return make_select_runner(
      "cuda (" + cuda::device_name() + ")", 0, [] { return cuda_queue(); }, batch, program,
      expected);
}

} // namespace l3::bench
