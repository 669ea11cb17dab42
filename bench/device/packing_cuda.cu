// SPDX-License-Identifier: Apache-2.0
#include "gpu/executors/cuda.cuh" // first: device forms of kernels need its block

#include "bench/device/packing_stand.hpp"

namespace l3::bench {

packing_rows cuda_packing(const waveform_tile& tile, std::uint32_t waveforms,
                          const packet_work* packets) {
  packing_rows made = rows_of_stands([] { return cuda_queue(); }, tile, waveforms, packets);
  made.where = "cuda (" + cuda::device_name() + ")";
  return made;
}

} // namespace l3::bench
