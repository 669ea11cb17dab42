// SPDX-License-Identifier: Apache-2.0
// The forms of gpu/executors/atomics.hpp for HIP devices: overloads that a compiler prefers to the
// portable functions if the block is a hip_block.
#pragma once

#include <cstdint>

namespace l3 {

struct hip_block;

namespace hip {

/// An atomic add over all lanes of the device, or of one block, without ordering.
template <int scope>
[[nodiscard]] __device__ inline std::uint32_t fetch_add(std::uint32_t* at, std::uint32_t n) {
  return __hip_atomic_fetch_add(at, n, __ATOMIC_RELAXED, scope);
}

} // namespace hip

[[nodiscard]] __device__ inline std::uint32_t fetch_add(const hip_block&, std::uint32_t* at,
                                                        std::uint32_t n) {
  return hip::fetch_add<__HIP_MEMORY_SCOPE_AGENT>(at, n);
}

[[nodiscard]] __device__ inline std::uint32_t fetch_add_within(const hip_block&, std::uint32_t* at,
                                                               std::uint32_t n) {
  return hip::fetch_add<__HIP_MEMORY_SCOPE_WORKGROUP>(at, n);
}

/// LDS has a 64-bit add.
__device__ inline void add_within(const hip_block&, std::uint64_t* at, std::uint64_t n) {
  static_cast<void>(__hip_atomic_fetch_add(at, n, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP));
}

template <std::uint32_t sums>
__device__ inline void add_together_within(const hip_block& b, std::uint64_t (&at)[sums],
                                           const std::uint64_t (&n)[sums]) {
  for (std::uint32_t k = 0; k < sums; ++k) add_within(b, &at[k], n[k]);
}

__device__ inline void set_bits_within(const hip_block&, std::uint32_t* at, std::uint32_t bits) {
  static_cast<void>(
      __hip_atomic_fetch_or(at, bits, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP));
}

__device__ inline std::uint32_t fetch_min_within(const hip_block&, std::uint32_t* at,
                                                 std::uint32_t n) {
  return __hip_atomic_fetch_min(at, n, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
}

__device__ inline std::uint64_t fetch_max_within(const hip_block&, std::uint64_t* at,
                                                 std::uint64_t n) {
  return __hip_atomic_fetch_max(at, n, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
}

[[nodiscard]] __device__ inline std::uint32_t observe_within(const hip_block&, std::uint32_t* at) {
  return __hip_atomic_load(at, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
}

} // namespace l3
