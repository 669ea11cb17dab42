// SPDX-License-Identifier: Apache-2.0
// Sizes and rates with their unit in the type; durations are std::chrono.
#pragma once

#include <compare>
#include <cstdint>

namespace l3 {

struct byte_size {
  std::uint64_t bytes = 0;
  friend auto operator<=>(const byte_size&, const byte_size&) = default;
};
[[nodiscard]] constexpr byte_size kibibytes(std::uint64_t n) { return {n << 10}; }
[[nodiscard]] constexpr byte_size mebibytes(std::uint64_t n) { return {n << 20}; }

/// 0 means unlimited.
struct bit_rate {
  double bits_per_second = 0;
  friend auto operator<=>(const bit_rate&, const bit_rate&) = default;
};

} // namespace l3
