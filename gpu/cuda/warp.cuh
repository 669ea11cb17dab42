// SPDX-License-Identifier: Apache-2.0
// Exchanges between the 32 threads of a warp. All of them must call each of these functions.
#pragma once

#include <cstdint>

namespace l3::warp {

inline constexpr std::uint32_t threads = 32;
inline constexpr std::uint32_t everyone = 0xffffffff;

/// The number of the calling thread in its warp.
[[nodiscard]] __device__ inline std::uint32_t thread() { return threadIdx.x % threads; }

/// The number of bits of a number.
[[nodiscard]] __device__ inline std::uint32_t bits_needed(std::uint32_t number) {
  return 32 - static_cast<std::uint32_t>(__clz(static_cast<int>(number)));
}

/// The value of the thread whose number differs in these bits.
[[nodiscard]] __device__ inline std::uint32_t across(std::uint32_t value, std::uint32_t bits) {
  return __shfl_xor_sync(everyone, value, static_cast<int>(bits));
}

/// The value of thread number `from`.
[[nodiscard]] __device__ inline std::uint32_t of_thread(std::uint32_t value, std::uint32_t from) {
  return __shfl_sync(everyone, value, static_cast<int>(from));
}

/// The value of the previous thread; 0 in the first thread.
[[nodiscard]] __device__ inline std::uint32_t of_thread_before(std::uint32_t value) {
  std::uint32_t before = 0;
  // The predicate of the exchange is set if there is such a thread.
  asm volatile("{\n\t.reg .pred %%there;\n\tshfl.sync.up.b32 %0|%%there, %1, 1, 0, -1;\n\t"
               "selp.b32 %0, %0, 0, %%there;\n\t}"
               : "=r"(before)
               : "r"(value));
  return before;
}

[[nodiscard]] __device__ inline std::uint32_t sum(std::uint32_t value) {
  return __reduce_add_sync(everyone, value);
}

[[nodiscard]] __device__ inline std::uint32_t union_of(std::uint32_t bits) {
  return __reduce_or_sync(everyone, bits);
}

/// Bit t is set if thread t says yes.
[[nodiscard]] __device__ inline std::uint32_t ballot(bool yes) {
  return __ballot_sync(everyone, yes);
}

[[nodiscard]] __device__ inline bool any(bool yes) { return __any_sync(everyone, yes) != 0; }

/// Adds the value of the thread this far before, if there is one.
template <std::uint32_t distance>
__device__ inline void add_of_thread_before(std::uint32_t& value) {
  // The predicate of the exchange is set if there is such a thread.
  asm volatile("{\n\t.reg .pred %%there;\n\t.reg .u32 %%before;\n\t"
               "shfl.sync.up.b32 %%before|%%there, %0, %1, 0, -1;\n\t"
               "@%%there add.u32 %0, %0, %%before;\n\t}"
               : "+r"(value)
               : "n"(distance));
}

/// The sum over this thread and all threads before it.
[[nodiscard]] __device__ inline std::uint32_t sum_until(std::uint32_t value) {
  add_of_thread_before<1>(value);
  add_of_thread_before<2>(value);
  add_of_thread_before<4>(value);
  add_of_thread_before<8>(value);
  add_of_thread_before<16>(value);
  return value;
}

/// Orders the threads' accesses to memory that they share.
__device__ inline void sync() { __syncwarp(); }

} // namespace l3::warp
