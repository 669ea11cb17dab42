// SPDX-License-Identifier: Apache-2.0
// The atomic operations of kernels: they fetch work from a counter, or take a place in a list. None
// of them orders other accesses. Each takes the block as its first argument. CPU executors use the
// functions of this header; devices use the overloads of atomics.cuh.
//
// Functions called …_within are for shared memory, which only the lanes of one block use. In blocks
// of one lane they are plain loads and stores.
#pragma once

#include <atomic>
#include <cstdint>

#include "gpu/executors/block.hpp"

namespace l3 {

/// Adds n and returns the previous value.
template <block B>
[[nodiscard]] std::uint32_t fetch_add(const B&, std::uint32_t* at, std::uint32_t n) {
  return std::atomic_ref(*at).fetch_add(n, std::memory_order_relaxed);
}

/// Adds n to a word of shared memory and returns the previous value.
template <block B>
[[nodiscard]] std::uint32_t fetch_add_within(const B& b, std::uint32_t* at, std::uint32_t n) {
  if (b.threads() != 1) return std::atomic_ref(*at).fetch_add(n, std::memory_order_relaxed);
  const std::uint32_t before = *at;
  *at = before + n;
  return before;
}

/// Adds n modulo 2⁶⁴, so that negative numbers may be added too. Returns nothing, because a device
/// adds the two halves one after the other.
template <block B>
void add_within(const B& b, std::uint64_t* at, std::uint64_t n) {
  if (b.threads() != 1) {
    std::atomic_ref(*at).fetch_add(n, std::memory_order_relaxed);
  } else {
    *at += n;
  }
}

/// add_within of each n[k] to at[k], for items that often have the same sums. On a device one lane
/// adds for all lanes of a warp that call it together, if they all have the same sums.
template <block B, std::uint32_t sums>
void add_together_within(const B& b, std::uint64_t (&at)[sums], const std::uint64_t (&n)[sums]) {
  for (std::uint32_t k = 0; k < sums; ++k) add_within(b, &at[k], n[k]);
}

/// Sets bits.
template <block B>
void set_bits_within(const B& b, std::uint32_t* at, std::uint32_t bits) {
  if (b.threads() != 1) {
    std::atomic_ref(*at).fetch_or(bits, std::memory_order_relaxed);
  } else {
    *at |= bits;
  }
}

/// Stores the smaller of n and the previous value, and returns the previous value.
template <block B>
std::uint32_t fetch_min_within(const B& b, std::uint32_t* at, std::uint32_t n) {
  if (b.threads() == 1) {
    const std::uint32_t before = *at;
    *at = n < before ? n : before;
    return before;
  }
  const std::atomic_ref shared(*at);
  std::uint32_t before = shared.load(std::memory_order_relaxed);
  while (n < before && !shared.compare_exchange_weak(before, n, std::memory_order_relaxed)) {
  }
  return before;
}

/// Stores the greater of n and the previous value, and returns the previous value.
template <block B>
std::uint64_t fetch_max_within(const B& b, std::uint64_t* at, std::uint64_t n) {
  if (b.threads() == 1) {
    const std::uint64_t before = *at;
    *at = n > before ? n : before;
    return before;
  }
  const std::atomic_ref shared(*at);
  std::uint64_t before = shared.load(std::memory_order_relaxed);
  while (n > before && !shared.compare_exchange_weak(before, n, std::memory_order_relaxed)) {
  }
  return before;
}

/// The current value.
template <block B>
[[nodiscard]] std::uint32_t observe_within(const B& b, std::uint32_t* at) {
  return b.threads() == 1 ? *at : std::atomic_ref(*at).load(std::memory_order_relaxed);
}

} // namespace l3

// Included here so that no device source can leave them out.
#if defined(__CUDACC__)
#include "gpu/executors/atomics.cuh"
#elif defined(__HIPCC__)
#include "gpu/executors/atomics.hip.hpp"
#endif
