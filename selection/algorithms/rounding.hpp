// SPDX-License-Identifier: Apache-2.0
// Rounding to integers, with the same bits on every executor. Division rounds towards minus
// infinity, square roots down, doubles to the nearest, and a value that does not fit 32 bits
// becomes the largest that does.
#pragma once

#include <cmath>
#include <cstdint>

#include "transport/format/function.hpp"

namespace l3 {

inline constexpr std::int32_t largest_number = 0x7fffffff;

/// The nearest number that fits 32 bits. Never the smallest, which means an undefined
/// quantity.
[[nodiscard]] L3_FN inline std::int32_t limited(std::int64_t n) {
  if (n > largest_number) return largest_number;
  if (n < -largest_number) return -largest_number;
  return static_cast<std::int32_t>(n);
}

/// sum ÷ by, for by > 0, rounded towards minus infinity.
[[nodiscard]] L3_FN inline std::int64_t divide_down(std::int64_t sum, std::int64_t by) {
  const std::int64_t quotient = sum / by;
  return quotient * by > sum ? quotient - 1 : quotient;
}

/// The largest integer whose square is at most n, for 0 ≤ n < 2⁶². The root of the double is never
/// too small, because the root of a square is exact, and too large by at most one.
[[nodiscard]] L3_FN inline std::int64_t root_down(std::int64_t n) {
  const auto root = static_cast<std::int64_t>(std::sqrt(static_cast<double>(n)));
  return root * root > n ? root - 1 : root;
}

/// The nearest integer; halves round up.
[[nodiscard]] L3_FN inline std::int32_t nearest(double x) {
  constexpr double most = largest_number;
  if (!(x < most)) return largest_number;
  if (x < -most) return -largest_number;
  return limited(static_cast<std::int64_t>(std::floor(x + 0.5)));
}

} // namespace l3
