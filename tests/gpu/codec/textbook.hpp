// SPDX-License-Identifier: Apache-2.0
// The KOTO record, packed and unpacked bit by bit from docs/formats.md, in the plainest code. Tests
// compare the codec with it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace l3::test {

inline std::vector<std::byte> textbook_pack(const std::uint16_t* samples) {
  const auto [low, high] = std::minmax_element(samples, samples + 64);
  unsigned bits = 0;
  while ((unsigned{*high} - *low) >> bits != 0) ++bits;
  std::vector<std::byte> out(3 + 8 * bits);
  out[0] = static_cast<std::byte>(bits);
  out[1] = static_cast<std::byte>(*low & 0xff);
  out[2] = static_cast<std::byte>(*low >> 8);
  std::size_t position = 0;
  for (int i = 0; i < 64; ++i) {
    for (unsigned bit = 0; bit < bits; ++bit, ++position) {
      if (((samples[i] - *low) >> bit & 1) != 0) {
        out[3 + position / 8] |= static_cast<std::byte>(1 << position % 8);
      }
    }
  }
  return out;
}

inline std::vector<std::uint16_t> textbook_unpack(const std::byte* record) {
  const auto byte = [&](std::size_t i) { return std::to_integer<unsigned>(record[i]); };
  const unsigned bits = byte(0);
  const unsigned low = byte(1) | byte(2) << 8;
  std::vector<std::uint16_t> samples(64);
  std::size_t position = 0;
  for (auto& s : samples) {
    unsigned difference = 0;
    for (unsigned bit = 0; bit < bits; ++bit, ++position) {
      difference |= (byte(3 + position / 8) >> position % 8 & 1U) << bit;
    }
    s = static_cast<std::uint16_t>(low + difference);
  }
  return samples;
}

} // namespace l3::test
