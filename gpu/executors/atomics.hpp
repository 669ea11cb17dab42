// SPDX-License-Identifier: Apache-2.0
// What kernels may do to memory that others use at the same time: fetch work from a counter, take a
// place in a list, and tell a value to whoever waits for it. None of them orders any other access.
// Each takes the block as its first argument and has a special form for devices under gpu/cuda,
// behind the same name; what stands here is what all CPU executors run.
//
// Those called …_within are for shared memory, which only the lanes of one block use: where one
// lane runs all items they are plain loads and stores.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "gpu/executors/block.hpp"

namespace l3 {

/// Adds n and returns what was there before.
template <block B>
[[nodiscard]] std::uint32_t fetch_add(const B&, std::uint32_t* at, std::uint32_t n) {
  return std::atomic_ref(*at).fetch_add(n, std::memory_order_relaxed);
}

/// The same with an atomic for each item, come what may: a device's compiler may make one atomic of
/// those of a warp that it sees to use one counter. To measure what that is worth.
template <block B>
[[nodiscard]] std::uint32_t fetch_add_alone(const B& b, std::uint32_t* at, std::uint32_t n) {
  return fetch_add(b, at, n);
}

/// The same by 1, for items of a for_each that all use one counter: on a device those of a warp
/// that come here together are served by one atomic, come what may. A CPU has no warps: there is
/// nothing to gather.
template <block B>
[[nodiscard]] std::uint32_t fetch_one_of_warp(const B& b, std::uint32_t* at) {
  return fetch_add(b, at, 1);
}

/// Tells `value` to other blocks: this word alone, not what was written before it.
template <block B>
void publish(const B&, std::uint64_t* at, std::uint64_t value) {
  std::atomic_ref(*at).store(value, std::memory_order_relaxed);
}

/// The value now.
template <block B>
[[nodiscard]] std::uint64_t observe(const B&, std::uint64_t* at) {
  return std::atomic_ref(*at).load(std::memory_order_relaxed);
}

/// Called while waiting for another block, which may need this very core.
template <block B>
void give_way(const B&) {
  std::this_thread::yield();
}

/// Adds n to what is in shared memory, and returns what was there before.
template <block B>
[[nodiscard]] std::uint32_t fetch_add_within(const B& b, std::uint32_t* at, std::uint32_t n) {
  if (b.threads() != 1) return std::atomic_ref(*at).fetch_add(n, std::memory_order_relaxed);
  const std::uint32_t before = *at;
  *at = before + n;
  return before;
}

/// Adds n modulo 2⁶⁴, so that numbers below 0 may be added too. Nobody is told what was there: a
/// device adds the two halves one after the other.
template <block B>
void add_within(const B& b, std::uint64_t* at, std::uint64_t n) {
  if (b.threads() != 1) {
    std::atomic_ref(*at).fetch_add(n, std::memory_order_relaxed);
  } else {
    *at += n;
  }
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

/// Leaves the smaller of n and what was there before, which it returns.
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

/// Leaves the greater of n and what was there before, which it returns.
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

/// The value now.
template <block B>
[[nodiscard]] std::uint32_t observe_within(const B& b, std::uint32_t* at) {
  return b.threads() == 1 ? *at : std::atomic_ref(*at).load(std::memory_order_relaxed);
}

} // namespace l3

#if defined(__CUDACC__)
#include "gpu/executors/atomics.cuh" // here, so that no device source can forget it
#endif
