// SPDX-License-Identifier: Apache-2.0
#include "gpu/executors/cuda.cuh" // first: device forms of kernels need its block

#include "bench/device/device_pack.hpp"

namespace l3::bench {

std::string device_name() { return cuda::device_name(); }

std::vector<device_pack_row> cuda_pack(const decode_batch& batch,
                                       const device_pack_expected& expected, std::uint32_t rounds) {
  return device_pack<cuda_queue>(cuda_queue(), batch, expected).run(rounds);
}

} // namespace l3::bench
