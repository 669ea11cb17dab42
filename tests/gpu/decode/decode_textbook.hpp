// SPDX-License-Identifier: Apache-2.0
// The expected output of the decoder, worked out word by word from docs/formats.md without code of
// the kernels.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tests/gpu/decode/make_boards.hpp"

namespace l3::test {

/// The expected output for one board. Without samples the decoder must write nothing.
struct textbook_board {
  std::vector<std::uint16_t> samples;
  bool sound = false;
  std::vector<std::uint16_t> minimum; ///< by record, if it is sound
  std::vector<std::uint16_t> range;
};

inline textbook_board textbook_decode(const made_board& b) {
  textbook_board out;
  if (b.opaque || b.packet.size() != 2072) return out;
  const auto word = [&](std::size_t i) {
    return std::to_integer<unsigned>(b.packet[2 * i]) << 8 |
           std::to_integer<unsigned>(b.packet[2 * i + 1]);
  };
  out.sound = true;
  for (std::size_t i = 0; i < 1036; ++i) {
    const unsigned tag = word(i) >> 14;
    out.sound = out.sound && (i < 6 ? tag == 3 : i < 1030 ? tag == 2 : word(i) >> 12 == 6);
  }
  for (std::size_t r = 0; r < 16; ++r) {
    for (std::size_t s = 0; s < 64; ++s)
      out.samples.push_back(
          static_cast<std::uint16_t>(word(6 + sample_word(b.kind, r, s)) % 0x4000));
    const auto [low, high] = std::minmax_element(out.samples.end() - 64, out.samples.end());
    out.minimum.push_back(*low);
    out.range.push_back(static_cast<std::uint16_t>(*high - *low));
  }
  return out;
}

/// Extreme records: equal samples, all bits in use, one sample that differs.
inline std::vector<std::uint16_t> make_extreme_records(randomness& r) {
  std::vector<std::uint16_t> all;
  for (int c = 0; c < 16; ++c) {
    std::vector<std::uint16_t> w(64, below(r, 2) == 0 ? 0 : 0x3fff);
    const std::uint32_t others = below(r, 3);
    for (std::uint32_t k = 0; k < others; ++k) w[below(r, 64)] ^= 0x3fff;
    all.insert(all.end(), w.begin(), w.end());
  }
  return all;
}

} // namespace l3::test
