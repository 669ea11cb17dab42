// SPDX-License-Identifier: Apache-2.0
// The device forms of gpu/executors/atomics.hpp: overloads that a compiler prefers to the portable
// functions if the block is a cuda_block.
#pragma once

#include <cstdint>

namespace l3 {

struct cuda_block;

[[nodiscard]] __device__ inline std::uint32_t fetch_add(const cuda_block&, std::uint32_t* at,
                                                        std::uint32_t n) {
  return atomicAdd(at, n);
}

/// ptxas uses one atomic for a warp if it sees that all lanes use one counter. The address below
/// hides that from it: threadIdx.x >> 10 is always 0, because a CUDA block has at most 1024
/// threads, but ptxas does not know this limit.
[[nodiscard]] __device__ inline std::uint32_t fetch_add_alone(const cuda_block&, std::uint32_t* at,
                                                              std::uint32_t n) {
  constexpr std::uint32_t bits_of_a_thread = 10;
  return atomicAdd(at + (threadIdx.x >> bits_of_a_thread), n);
}

[[nodiscard]] __device__ inline std::uint32_t fetch_add_within(const cuda_block&, std::uint32_t* at,
                                                               std::uint32_t n) {
  return atomicAdd(at, n);
}

/// Shared memory has only a 32-bit atomic add. A 64-bit add would be a compare-and-exchange loop,
/// which n lanes that add to one sum run n times.
__device__ inline void add_within(const cuda_block&, std::uint64_t* at, std::uint64_t n) {
  constexpr std::uint32_t half = 32;
  auto* const words = reinterpret_cast<std::uint32_t*>(at); // the low one first
  const auto low = static_cast<std::uint32_t>(n);
  const std::uint32_t before = atomicAdd(words, low);
  const std::uint32_t carry = before + low < low ? 1 : 0;
  const std::uint32_t high = static_cast<std::uint32_t>(n >> half) + carry;
  if (high != 0) atomicAdd(words + 1, high);
}

/// The sum of n, modulo 2⁶⁴, over the lanes `here`, all of which must call it. The device sums 32
/// bits at once, so n is added in parts that leave room for the carries of 32 lanes.
[[nodiscard]] __device__ inline std::uint64_t sum_over(std::uint32_t here, std::uint64_t n) {
  constexpr std::uint32_t part_bits = 27;
  constexpr std::uint32_t low = (1U << part_bits) - 1;
  const auto part = [&](std::uint32_t from) {
    return std::uint64_t{__reduce_add_sync(here, static_cast<std::uint32_t>(n >> from) & low)}
           << from;
  };
  return part(0) + part(part_bits) + part(2 * part_bits);
}

/// Adding to one address lane by lane would take time proportional to the number of lanes.
template <std::uint32_t sums>
__device__ inline void add_together_within(const cuda_block& b, std::uint64_t (&at)[sums],
                                           const std::uint64_t (&n)[sums]) {
  const std::uint32_t here = __activemask();
  const int first = __ffs(static_cast<int>(here)) - 1;
  const auto place = static_cast<std::uint32_t>(__cvta_generic_to_shared(at));
  if (__all_sync(here, static_cast<int>(__shfl_sync(here, place, first) == place)) == 0) {
    for (std::uint32_t k = 0; k < sums; ++k) add_within(b, &at[k], n[k]);
    return;
  }
  std::uint32_t before_me = 0;
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(before_me));
  const bool is_first = (here & before_me) == 0;
  for (std::uint32_t k = 0; k < sums; ++k) {
    const std::uint64_t sum = sum_over(here, n[k]);
    if (is_first) add_within(b, &at[k], sum);
  }
}

__device__ inline void set_bits_within(const cuda_block&, std::uint32_t* at, std::uint32_t bits) {
  atomicOr(at, bits);
}

__device__ inline std::uint32_t fetch_min_within(const cuda_block&, std::uint32_t* at,
                                                 std::uint32_t n) {
  return atomicMin(at, n);
}

__device__ inline std::uint64_t fetch_max_within(const cuda_block&, std::uint64_t* at,
                                                 std::uint64_t n) {
  static_assert(sizeof(unsigned long long) == sizeof n);
  return atomicMax(reinterpret_cast<unsigned long long*>(at), n);
}

[[nodiscard]] __device__ inline std::uint32_t observe_within(const cuda_block&, std::uint32_t* at) {
  return *static_cast<const volatile std::uint32_t*>(at);
}

} // namespace l3
