// SPDX-License-Identifier: Apache-2.0
// Byte shuffles between the lanes of a strong codec group and their shared words, by the set of
// lanes with a word, for instructions that shuffle the bytes of a vector of 16.
#pragma once

#include <bit>
#include <cstdint>

namespace l3::strong {

struct word_shuffles {
  /// From adjacent words to the 32-bit lanes of the set; the others get 0. The words are in both
  /// halves of the vector of 32 bytes.
  alignas(32) std::uint8_t spread[256][32];
  /// From the lanes of the set to adjacent words at the end of the vector.
  alignas(16) std::uint8_t gather[256][16];
};

inline constexpr word_shuffles shuffles = [] {
  constexpr std::uint8_t zero = 0x80;
  word_shuffles s{};
  for (std::uint32_t set = 0; set < 256; ++set) {
    std::uint32_t word = 0;
    const auto first = 8U - static_cast<std::uint32_t>(std::popcount(set));
    for (auto& byte : s.spread[set]) byte = zero;
    for (auto& byte : s.gather[set]) byte = zero;
    for (std::uint32_t lane = 0; lane < 8; ++lane) {
      if ((set >> lane & 1) == 0) continue;
      for (std::uint32_t byte = 0; byte < 2; ++byte) {
        s.spread[set][4 * lane + byte] = static_cast<std::uint8_t>(2 * word + byte);
        s.gather[set][2 * (first + word) + byte] = static_cast<std::uint8_t>(2 * lane + byte);
      }
      ++word;
    }
  }
  return s;
}();

} // namespace l3::strong
