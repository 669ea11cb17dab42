// SPDX-License-Identifier: Apache-2.0
// The device forms of gpu/codec/put.hpp, for shared memory. make_room writes zeros, so that lanes
// can merge neighbouring runs into one word in any order.
#pragma once

#include <cstddef>
#include <cstdint>

namespace l3 {

struct cuda_block;

__device__ inline void make_room(const cuda_block&, std::byte* to, std::uint32_t n) {
  constexpr std::uintptr_t word = sizeof(std::uint32_t);
  const auto from = reinterpret_cast<std::uintptr_t>(to);
  const std::uintptr_t first = (from + word - 1) / word * word;
  auto* const words = reinterpret_cast<std::uint32_t*>(to + (first - from));
  const auto count = static_cast<std::uint32_t>((from + n + word - 1) / word - first / word);
#pragma unroll 1
  for (std::uint32_t i = threadIdx.x; i < count; i += blockDim.x) words[i] = 0;
}

__device__ inline void put(const cuda_block&, std::byte* to, koto::octet run, std::uint32_t n) {
  constexpr std::uint32_t word = sizeof(std::uint32_t);
  constexpr std::uint32_t word_bits = 32;
  constexpr std::uint32_t most = 5; // words that 16 bytes can touch
  const auto misplaced = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(to) % word);
  auto* const words = reinterpret_cast<std::uint32_t*>(to - misplaced);
  const std::uint32_t touched = (misplaced + n + word - 1) / word;
  const std::uint32_t parts[most + 1] = {0,
                                         static_cast<std::uint32_t>(run.low),
                                         static_cast<std::uint32_t>(run.low >> word_bits),
                                         static_cast<std::uint32_t>(run.high),
                                         static_cast<std::uint32_t>(run.high >> word_bits),
                                         0};
#pragma unroll
  for (std::uint32_t k = 0; k < most; ++k) {
    if (k >= touched) break;
    const std::uint32_t x = __funnelshift_l(parts[k], parts[k + 1], 8 * misplaced);
    if (k == 0 || k + 1 == touched) {
      atomicOr(words + k, x);
    } else {
      words[k] = x;
    }
  }
}

} // namespace l3
