// SPDX-License-Identifier: Apache-2.0
// The tables of the strong codec for its coders, by scale.
#pragma once

#include <cstdint>

#include "transport/format/function.hpp"
#include "transport/format/strong_tables.hpp"

namespace l3::strong {

/// The number of low bits of a residual of scale n that are stored uncoded.
[[nodiscard]] L3_FN constexpr std::uint32_t low_bits_of(std::uint32_t n) {
  return n < small_scales ? 0 : (n - small_scales) / 2 + 1;
}

/// The tables for coding, by scale.
struct symbol_tables {
  /// For encoding: frequency | sum of the earlier ones << 10 | low bits << 20 | escape << 31. All
  /// symbols from the escape on are the escape.
  std::uint32_t of_symbol[scales * max_symbols];
  /// For decoding: frequency | (slot − sum) << 10 | residual without low bits << 22, with its sign;
  /// for the escape less than end_of_escapes.
  std::uint32_t of_slot[scales * table_slots];
};

inline constexpr std::uint32_t escape_bit = 1U << 31;
inline constexpr std::int32_t end_of_escapes = -511 * (1 << 22);

inline constexpr symbol_tables symbols = [] {
  symbol_tables t{};
  for (std::uint32_t n = 0; n < scales; ++n) {
    const std::uint16_t* const f = frequencies[n < small_scales ? n : small_scales + n % 2];
    std::uint32_t escape = 0;
    while (escape + 1 < max_symbols && f[escape + 1] != 0) ++escape;
    std::uint32_t sum = 0;
    for (std::uint32_t s = 0; s < max_symbols; ++s) {
      const std::uint32_t is_escape = s < escape ? 0 : escape_bit;
      const std::uint32_t last = s < escape ? s : escape;
      t.of_symbol[n * max_symbols + s] = f[last] | sum << 10 | low_bits_of(n) << 20 | is_escape;
      if (s > escape) continue;
      const std::uint32_t quotient = s == escape ? 0x200 : s / 2 ^ (s % 2 == 0 ? 0 : 0x3ff);
      for (std::uint32_t k = 0; k < f[s]; ++k)
        t.of_slot[n * table_slots + sum + k] = f[s] | k << 10 | quotient << 22;
      if (s < escape) sum += f[s];
    }
    if (sum + f[escape] != table_slots) throw "the frequencies of a table add up to 1024";
  }
  return t;
}();

#if defined(__CUDACC__) || defined(__HIPCC__)
/// symbols.of_symbol in a device's memory, because device code cannot read the host's arrays.
struct device_symbols {
  std::uint32_t of_symbol[scales * max_symbols];
};
__device__ constexpr device_symbols symbols_on_device = [] {
  device_symbols t{};
  for (std::uint32_t n = 0; n < scales * max_symbols; ++n) t.of_symbol[n] = symbols.of_symbol[n];
  return t;
}();
#endif

/// An entry for encoding: scale n and symbol s have the number n · max_symbols + s.
[[nodiscard]] L3_FN inline std::uint32_t entry_of(std::uint32_t number) {
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
  return symbols_on_device.of_symbol[number];
#else
  return symbols.of_symbol[number];
#endif
}

} // namespace l3::strong
