// SPDX-License-Identifier: Apache-2.0
// The expected output of the decoder, worked out word by word from docs/formats.md without code of
// the kernels; and events that the receivers would admit.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
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

inline std::uint8_t bits_of(std::uint32_t range) {
  std::uint8_t n = 0;
  while (range >> n != 0) ++n;
  return n;
}

/// A packet whose header marks it as opaque, with any number of compression and sample words.
inline made_board make_tagged_opaque_board(std::uint8_t slot, std::uint32_t spill,
                                           std::uint32_t number, randomness& r) {
  const std::uint32_t compression = below(r, 33);
  const std::uint32_t samples = below(r, 4) == 0 ? 1024 * below(r, 2) : below(r, 1025);
  const std::uint32_t words = 6 + compression + samples + 6 + samples % 2;
  made_board b{board_kind::sampling_125_mhz, slot, true, bytes(std::size_t{2} * words)};
  for (std::uint32_t w = 0; w < words; ++w) {
    const std::uint32_t any = below(r, 0x4000);
    std::uint32_t word = 0; // the pad
    if (w < 6) {
      word = l2::expected_header_word(static_cast<int>(w), spill, number, slot, 0) |
             (w == 1 ? 0x2000 : 0);
    } else if (w < 6 + compression) {
      word = 0xc000 | any;
    } else if (w < 6 + compression + samples) {
      word = 0x8000 | any;
    } else if (w < 12 + compression + samples) {
      word = 0x6000 | (any & 0xfff);
    }
    store_big(b.packet.data() + std::size_t{2} * w, static_cast<std::uint16_t>(word));
  }
  return b;
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

/// An event that the receivers admit: every header is right and slots rise. Fragments or boards may
/// be missing, boards may be opaque, and the words behind a header may be wrong.
inline made_event make_admitted_event(std::uint32_t number, std::uint32_t fragments,
                                      randomness& r) {
  made_event e;
  e.spill = below(r, 512);
  e.number = number;
  for (std::uint32_t crate = 0; crate < fragments; ++crate) {
    if (below(r, 8) == 0) continue;
    if (below(r, 8) == 0) {
      e.fragments.push_back(make_raw_fragment(static_cast<std::uint8_t>(crate), below(r, 900), r));
      continue;
    }
    const auto kind =
        below(r, 3) == 0 ? board_kind::sampling_500_mhz : board_kind::sampling_125_mhz;
    std::vector<made_board> boards;
    for (std::uint8_t slot = l2::first_slot; slot <= l2::last_slot; ++slot) {
      if (below(r, 3) == 0) continue;
      if (below(r, 6) == 0) {
        boards.push_back(make_tagged_opaque_board(slot, e.spill, number, r));
        continue;
      }
      boards.push_back(make_board(kind, slot, e.spill, number, below(r, 1U << 28),
                                  below(r, 4) == 0 ? make_extreme_records(r) : make_records(r)));
      std::byte* const packet = boards.back().packet.data();
      const auto spoil = [&](std::uint32_t word, std::uint32_t mask) {
        const auto found = load_big<std::uint16_t>(packet + std::size_t{2} * word);
        store_big(packet + std::size_t{2} * word, static_cast<std::uint16_t>(found ^ mask));
      };
      switch (below(r, 8)) {
      case 0: spoil(6 + below(r, 1024), 1U << (14 + below(r, 2))); break;
      case 1: spoil(1030 + below(r, 6), 1U << (12 + below(r, 4))); break;
      case 2: spoil(1030 + below(r, 6), 1U << below(r, 12)); break; // unusual, but right
      default: break;
      }
    }
    e.fragments.push_back(
        make_fragment(static_cast<std::uint8_t>(crate), number, std::move(boards)));
  }
  return e;
}

} // namespace l3::test
