// SPDX-License-Identifier: Apache-2.0
// The block in which a kernel runs, as on a CUDA device: lanes that share memory and meet at
// sync(). (Not the output block of transport/format/block.hpp.) A kernel is a type with a `struct
// shared` and a call operator that is a template over its block. It computes in parallel by
// for_each(b, n, f), which distributes n items over the lanes, and calls b.sync() between writing
// shared memory and reading what another lane wrote.
//
// Code outside for_each runs in every lane on a device, and once for all lanes on some executors:
// it may compute, but not write. A value that must outlive a for_each is in shared memory, indexed
// by the item, never by the lane. A kernel that keeps these rules is correct at every width, and
// its result does not depend on the width.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include "transport/format/function.hpp"

namespace l3 {

template <class B>
concept block = requires(const B& b) {
  { b.index() } -> std::same_as<std::uint32_t>;   ///< which block this is, from 0
  { b.threads() } -> std::same_as<std::uint32_t>; ///< the width of the block
  { b.lane() } -> std::same_as<std::uint32_t>;    ///< 0 if one lane runs all items
  b.sync();                                       ///< every lane must call it
};

/// Calls f(i) for every i below n, in no particular order.
template <block B, class F>
L3_FN void for_each(const B& b, std::uint32_t n, F&& f) {
  if constexpr (requires { b.for_each(n, f); }) {
    b.for_each(n, f);
  } else {
    for (std::uint32_t i = b.lane(); i < n; i += b.threads()) f(i);
  }
}

/// Calls f(i, j) for every i below n and j below m. On blocks of one lane j is the inner loop,
/// which compilers vectorise: neighbours in j should be neighbours in memory.
template <block B, class F>
L3_FN void for_each(const B& b, std::uint32_t n, std::uint32_t m, F&& f) {
  if constexpr (requires { b.for_each(n, m, f); }) {
    b.for_each(n, m, f);
  } else {
    for_each(b, n * m, [&](std::uint32_t k) { f(k / m, k % m); });
  }
}

/// A hint that the next block will probably read these n bytes, which need not exist. A CPU core
/// idles while it waits for memory; a device runs other blocks meanwhile and ignores the hint.
template <block B>
L3_FN void prefetch(const B& b, const std::byte* p, std::uint32_t n) {
  if constexpr (requires { b.prefetch(p, n); }) b.prefetch(p, n);
}

} // namespace l3
