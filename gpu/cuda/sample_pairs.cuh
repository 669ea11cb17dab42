// SPDX-License-Identifier: Apache-2.0
// Two samples with their tags in a 32-bit word, and the packed instructions that compare both at
// once.
//
// Devices from sm_80 on compare two 16-bit floating-point numbers in one instruction, but integers
// only from sm_90 on. A word with the tag of a sample, 10, is a negative half-precision number, and
// the larger its payload, the lower that number. A word with another tag is lower than all of them,
// positive, or NaN, and wins every comparison with them: the lowest or the highest of some samples
// then has a wrong tag, too.
#pragma once

#include <cstdint>

#include "transport/format/l2.hpp"

namespace l3::pairs {

/// The higher of two samples, in each half.
[[nodiscard]] __device__ inline std::uint32_t highest(std::uint32_t a, std::uint32_t b) {
  std::uint32_t found = 0;
  asm("min.NaN.f16x2 %0, %1, %2;" : "=r"(found) : "r"(a), "r"(b));
  return found;
}

/// The lower of two samples, in each half.
[[nodiscard]] __device__ inline std::uint32_t lowest(std::uint32_t a, std::uint32_t b) {
  std::uint32_t found = 0;
  asm("max.NaN.f16x2 %0, %1, %2;" : "=r"(found) : "r"(a), "r"(b));
  return found;
}

/// Converts big-endian samples to the machine's byte order.
[[nodiscard]] __device__ inline std::uint32_t swapped(std::uint32_t big) {
  constexpr std::uint32_t swap_each_half = 0x2301;
  return __byte_perm(big, 0, swap_each_half);
}

inline constexpr std::uint32_t both = 0x00010001;
inline constexpr std::uint32_t tags = l2::sample_tag * both;
inline constexpr std::uint32_t tag_masks = l2::wide_tag_mask * both;

/// Whether one of four samples has a wrong tag. For the lowest and highest of some samples, the
/// answer holds for all of them.
[[nodiscard]] __device__ inline bool wrong(std::uint32_t low, std::uint32_t high) {
  return (((low ^ tags) | (high ^ tags)) & tag_masks) != 0;
}

/// Half 0 (the lower one) or 1 of a pair.
[[nodiscard]] __device__ inline std::uint32_t half(std::uint32_t pair, std::uint32_t which) {
  constexpr std::uint32_t lower = 0x4410;
  constexpr std::uint32_t upper = 0x4432;
  return __byte_perm(pair, 0, which == 0 ? lower : upper);
}

} // namespace l3::pairs
