// SPDX-License-Identifier: Apache-2.0
// gpu/executors/atomics.hpp on a device. These overloads take the place of the portable forms
// wherever the block is a CUDA block.
#pragma once

#include <cstdint>

namespace l3 {

struct cuda_block;

[[nodiscard]] __device__ inline std::uint32_t fetch_add(const cuda_block&, std::uint32_t* at,
                                                        std::uint32_t n) {
  return atomicAdd(at, n);
}

/// ptxas gathers lanes by itself where it sees that they use one counter. Here it does not: it does
/// not know that no block has more than 1024 threads.
[[nodiscard]] __device__ inline std::uint32_t fetch_add_alone(const cuda_block&, std::uint32_t* at,
                                                              std::uint32_t n) {
  constexpr std::uint32_t bits_of_a_thread = 10;
  return atomicAdd(at + (threadIdx.x >> bits_of_a_thread), n);
}

/// The first of those that are here together adds for all, and each takes its share. By hand, for
/// ptxas does it in some kernels and on some devices only; alone, lest it does it once more around
/// this. The test gathered_atomics reads both in the machine code.
[[nodiscard]] __device__ inline std::uint32_t fetch_one_of_warp(const cuda_block& b,
                                                                std::uint32_t* at) {
  const std::uint32_t here = __activemask();
  std::uint32_t before_me = 0;
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(before_me));
  const auto mine = static_cast<std::uint32_t>(__popc(here & before_me));
  std::uint32_t first = 0;
  if (mine == 0) first = fetch_add_alone(b, at, static_cast<std::uint32_t>(__popc(here)));
  return __shfl_sync(here, first, __ffs(static_cast<int>(here)) - 1) + mine;
}

__device__ inline void publish(const cuda_block&, std::uint64_t* at, std::uint64_t value) {
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(at), "l"(value) : "memory");
}

[[nodiscard]] __device__ inline std::uint64_t observe(const cuda_block&, std::uint64_t* at) {
  std::uint64_t value = 0;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(at) : "memory");
  return value;
}

/// The scheduler of a device has other warps to run, and the memory other loads to serve.
__device__ inline void give_way(const cuda_block&) {
  constexpr std::uint32_t nanoseconds = 100;
  __nanosleep(nanoseconds);
}

[[nodiscard]] __device__ inline std::uint32_t fetch_add_within(const cuda_block&, std::uint32_t* at,
                                                               std::uint32_t n) {
  return atomicAdd(at, n);
}

/// Shared memory adds 32 bits by itself; 64 would be a loop of compare and exchange, which lanes
/// that add to one sum would turn as many times as there are of them.
__device__ inline void add_within(const cuda_block&, std::uint64_t* at, std::uint64_t n) {
  constexpr std::uint32_t half = 32;
  auto* const words = reinterpret_cast<std::uint32_t*>(at); // the low one first
  const auto low = static_cast<std::uint32_t>(n);
  const std::uint32_t before = atomicAdd(words, low);
  const std::uint32_t carry = before + low < low ? 1 : 0;
  const std::uint32_t high = static_cast<std::uint32_t>(n >> half) + carry;
  if (high != 0) atomicAdd(words + 1, high);
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
