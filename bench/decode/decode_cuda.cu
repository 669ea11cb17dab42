// SPDX-License-Identifier: Apache-2.0
#include "gpu/executors/cuda.cuh" // first: device forms of kernels need its block

#include <cuda_runtime_api.h>

#include "bench/decode/decode_stand.hpp"

namespace l3::bench {

decode_entrants make_cuda_decode_entrants(const decode_batch& batch, std::uint32_t threshold) {
  int processors = 0;
  cuda::check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0),
              "cannot ask the device");
  // No device fits more per processor. Blocks that have to wait find no work left.
  constexpr std::uint32_t blocks_per_processor = 16;
  return make_decode_entrants("cuda (" + cuda::device_name() + ")", cuda_queue(),
                              blocks_per_processor * static_cast<std::uint32_t>(processors), batch,
                              threshold);
}

} // namespace l3::bench
