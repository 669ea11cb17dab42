// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>

#include "bench/decode/decode_stand.hpp"

namespace l3::bench {

decode_runner make_cuda_decode_runner(const decode_batch&, std::uint32_t) {
  throw std::runtime_error("this program was built without CUDA");
}

} // namespace l3::bench
