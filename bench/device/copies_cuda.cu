// SPDX-License-Identifier: Apache-2.0
#include "gpu/executors/cuda.cuh" // first: device forms of kernels need its block

#include "bench/device/copies.hpp"
#include "bench/pipeline/arrivals.hpp"

namespace l3::bench {

std::vector<copy_row> cuda_copies(std::size_t bytes, std::uint32_t rounds) {
  return copies<cuda_queue>([] { return cuda_queue(); }, bytes).run(rounds);
}

entrant cuda_arrivals(std::span<const std::span<const std::byte>> from, std::uint32_t n) {
  return arrivals_entrant<cuda_queue>(
      "the same buffers copied to the device", [] { return cuda_queue(); }, from, n);
}

} // namespace l3::bench
