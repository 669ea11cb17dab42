// SPDX-License-Identifier: Apache-2.0
// The shifts and masks, by N, for packing and unpacking with vectors. The compiler computes them.
// On the processors that use them, a shift by the full width of a lane gives zero.
#pragma once

#include <array>
#include <cstdint>

#include "gpu/codec/koto.hpp"

namespace l3::koto {

/// Merges the halves of a word when each uses k · N bits: the result has the bits of the word where
/// the mask is set, and elsewhere those of the word shifted right.
struct merge_step {
  std::uint32_t pair_mask;
  std::uint32_t pair_shift;
  std::uint64_t quad_mask;
  std::uint64_t quad_shift;
  alignas(16) std::uint64_t octet_right[2]; // both quads of an octet
  alignas(16) std::uint64_t octet_left[2];  // the upper quad in both places
};

/// Splits words: the shifts that move the upper half of each word to its place.
struct split_step {
  std::uint32_t pair_shift;
  std::uint64_t quad_shift;
  alignas(16) std::uint64_t octet_right[2]; // the lower word of an octet in both places
  alignas(16) std::uint64_t octet_left[2];  // both words of an octet
};

/// Splits by permutations of a whole register: for each byte of the eight quads, in 64-bit words,
/// its source byte; then for each byte of the samples, its first bit in its word.
struct spread_step {
  alignas(64) std::uint8_t byte_of[64];
  alignas(64) std::uint8_t bit_of[64];
};

inline constexpr auto merge_steps = [] {
  std::array<merge_step, max_bits + 1> steps{};
  for (std::uint32_t n = 0; n <= max_bits; ++n) {
    steps[n] = {(1U << n) - 1, 16 - n,          (std::uint64_t{1} << (2 * n)) - 1,
                32U - 2U * n,  {0, 64 - 4 * n}, {4 * n, 64}};
  }
  return steps;
}();

inline constexpr auto split_steps = [] {
  std::array<split_step, max_bits + 1> steps{};
  for (std::uint32_t n = 0; n <= max_bits; ++n) {
    steps[n] = {16 - n, 32U - 2U * n, {0, 4 * n}, {64, 64 - 4 * n}};
  }
  return steps;
}();

inline constexpr auto spread_steps = [] {
  std::array<spread_step, max_bits + 1> steps{};
  for (std::uint32_t n = 0; n <= max_bits; ++n) {
    for (std::uint32_t quad = 0; quad < 8; ++quad) {
      const std::uint32_t first_bit = 4 * n * quad;
      for (std::uint32_t i = 0; i < 8; ++i) {
        const std::uint32_t lane = i / 2;
        const std::uint32_t byte = i % 2;
        // The upper byte of a sample of N ≤ 8 bits may begin after the word; a mask clears it
        // later.
        const std::uint32_t bit = first_bit % 8 + lane * n + 8 * byte;
        steps[n].byte_of[8 * quad + i] = static_cast<std::uint8_t>(first_bit / 8 + i);
        steps[n].bit_of[8 * quad + i] = static_cast<std::uint8_t>(bit % 64);
      }
    }
  }
  return steps;
}();

} // namespace l3::koto
