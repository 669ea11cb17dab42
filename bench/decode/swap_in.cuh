// SPDX-License-Identifier: Apache-2.0
// The form of swap_in (gpu/decode/packet.hpp) for CUDA devices, which reads and writes four bytes
// at a time. The product's kernels keep packets in registers there and do not need it. Packets and
// their pieces are at multiples of 4, except those after an opaque board of odd length.
#pragma once

#include <cstddef>
#include <cstdint>

#include "transport/format/endian.hpp"

namespace l3 {

struct cuda_block;

__device__ inline void swap_in(const cuda_block&, const std::byte* words, std::uint16_t* to,
                               std::uint32_t n) {
  const auto alignment = reinterpret_cast<std::uintptr_t>(words) |
                         reinterpret_cast<std::uintptr_t>(to) | (sizeof(std::uint16_t) * n);
  if (alignment % sizeof(std::uint32_t) == 0) {
    const auto* const from = reinterpret_cast<const std::uint32_t*>(words);
    auto* const pairs = reinterpret_cast<std::uint32_t*>(to);
    constexpr std::uint32_t swap_each_half = 0x2301;
    constexpr std::uint32_t in_flight = 5;
    const std::uint32_t count = n / 2;
    for (std::uint32_t first = threadIdx.x; first < count; first += in_flight * blockDim.x) {
      std::uint32_t word[in_flight] = {};
#pragma unroll
      for (std::uint32_t k = 0; k < in_flight; ++k)
        if (first + k * blockDim.x < count) word[k] = __ldg(from + first + k * blockDim.x);
#pragma unroll
      for (std::uint32_t k = 0; k < in_flight; ++k)
        if (first + k * blockDim.x < count)
          pairs[first + k * blockDim.x] = __byte_perm(word[k], 0, swap_each_half);
    }
  } else {
    const auto* const from = reinterpret_cast<const std::uint16_t*>(words);
#pragma unroll 1
    for (std::uint32_t i = threadIdx.x; i < n; i += blockDim.x) to[i] = swap_bytes(from[i]);
  }
}

} // namespace l3
