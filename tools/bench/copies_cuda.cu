// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/copies.hpp"

#include "gpu/cuda/queue.cuh"

namespace l3::bench {

std::vector<copy_row> cuda_copies(std::size_t bytes, std::uint32_t rounds) {
  return copies<cuda_queue>([] { return cuda_queue(); }, bytes).run(rounds);
}

} // namespace l3::bench
