// SPDX-License-Identifier: Apache-2.0
// Reads and writes integers of a given byte order at any address. Level-2 data are big-endian,
// koto-l3's own formats are little-endian; all supported hosts and devices are little-endian.
// Usable in device code.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "transport/format/function.hpp"

namespace l3 {

static_assert(std::endian::native == std::endian::little, "koto-l3 runs on little-endian machines");

[[nodiscard]] L3_FN constexpr std::uint16_t swap_bytes(std::uint16_t v) {
  return static_cast<std::uint16_t>((v << 8) | (v >> 8));
}

[[nodiscard]] L3_FN constexpr std::uint32_t swap_bytes(std::uint32_t v) {
  return (v << 24) | ((v & 0xff00U) << 8) | ((v >> 8) & 0xff00U) | (v >> 24);
}

[[nodiscard]] L3_FN constexpr std::uint64_t swap_bytes(std::uint64_t v) {
  return std::uint64_t{swap_bytes(static_cast<std::uint32_t>(v))} << 32 |
         swap_bytes(static_cast<std::uint32_t>(v >> 32));
}

/// Loads a T from p, which needs no alignment.
template <class T>
[[nodiscard]] L3_FN T load(const std::byte* p) {
  static_assert(std::is_trivially_copyable_v<T>);
  T v;
  memcpy(&v, p, sizeof v);
  return v;
}

template <class T>
L3_FN void store(std::byte* p, const T& v) {
  static_assert(std::is_trivially_copyable_v<T>);
  memcpy(p, &v, sizeof v);
}

/// Loads a big-endian word of 16, 32 or 64 bits from p.
template <class T>
[[nodiscard]] L3_FN T load_big(const std::byte* p) {
  return swap_bytes(load<T>(p));
}

template <class T>
L3_FN void store_big(std::byte* p, T v) {
  store(p, swap_bytes(v));
}

[[nodiscard]] L3_FN constexpr std::uint64_t round_up(std::uint64_t n, std::uint64_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

} // namespace l3
