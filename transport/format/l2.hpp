// SPDX-License-Identifier: Apache-2.0
// The words of the level-2 electronics: board packets, fragments, datagrams (docs/formats.md,
// sections 1 to 3). Constants and bit arithmetic only; usable in device code.
#pragma once

#include <cstddef>
#include <cstdint>

#include "transport/format/endian.hpp"

namespace l3::l2 {

// Board packet, in 16-bit words.
inline constexpr int header_words = 6;
inline constexpr int sample_words = 1024;
inline constexpr int footer_words = 6;
inline constexpr int board_words = header_words + sample_words + footer_words;
inline constexpr int board_bytes = 2 * board_words; // 2072
inline constexpr int max_compression_words = 32;
inline constexpr int first_slot = 3;
inline constexpr int last_slot = 18;
inline constexpr int max_boards = last_slot - first_slot + 1;

inline constexpr int waveform_samples = 64;    ///< samples of one KOTO record
inline constexpr int waveforms_per_board = 16; ///< 16 channels × 1, or 4 channels × 4 records

inline constexpr std::uint16_t header_tag = 0xc000; ///< top bits 11
inline constexpr std::uint16_t sample_tag = 0x8000; ///< top bits 10
inline constexpr std::uint16_t footer_tag = 0x6000; ///< top bits 0110
inline constexpr std::uint16_t wide_tag_mask = 0xc000;
inline constexpr std::uint16_t footer_tag_mask = 0xf000;
inline constexpr std::uint16_t payload_mask = 0x3fff;
inline constexpr std::uint16_t compressed_bit = 0x2000; ///< in header word 1

inline constexpr std::uint32_t spill_mask = 0x1ff;

/// Header word 4: spill number (9 bits) and board slot.
[[nodiscard]] L3_FN constexpr std::uint16_t spill_slot_word(std::uint32_t spill,
                                                            std::uint32_t slot) {
  return static_cast<std::uint16_t>(header_tag | ((spill & 0xffU) << 6) |
                                    (((spill >> 8) & 1U) << 5) | (slot & 0x1fU));
}
[[nodiscard]] L3_FN constexpr std::uint32_t spill_of(std::uint16_t word4) {
  return ((word4 >> 6) & 0xffU) | ((static_cast<std::uint32_t>(word4 >> 5) & 1U) << 8);
}
[[nodiscard]] L3_FN constexpr std::uint32_t slot_of(std::uint16_t word4) { return word4 & 0x1fU; }

/// Header word w (0 … 5) of an uncompressed board without trigger bits; `time` is the 28-bit time
/// stamp in 8 ns clocks.
[[nodiscard]] L3_FN constexpr std::uint16_t expected_header_word(int w, std::uint32_t spill,
                                                                 std::uint32_t number,
                                                                 std::uint32_t slot,
                                                                 std::uint32_t time) {
  switch (w) {
  case 2: return static_cast<std::uint16_t>(header_tag | ((time >> 14) & payload_mask));
  case 3: return static_cast<std::uint16_t>(header_tag | (time & payload_mask));
  case 4: return spill_slot_word(spill, slot);
  case 5: return static_cast<std::uint16_t>(header_tag | (number & payload_mask));
  default: return header_tag;
  }
}

// Fragment.
inline constexpr int fragment_header_bytes = 4;
inline constexpr int fragment_trailer_bytes = 4;
inline constexpr std::uint32_t fragment_trailer = 0x24000000;
[[nodiscard]] L3_FN constexpr std::uint32_t fragment_header(std::uint32_t event_number) {
  return 0x3c000000U | (event_number & payload_mask);
}
[[nodiscard]] constexpr std::size_t fragment_bytes(int boards) {
  return fragment_header_bytes + static_cast<std::size_t>(boards) * board_bytes +
         fragment_trailer_bytes;
}

/// The longest accepted fragment: 16 boards, each with all its compression words and a pad.
inline constexpr std::size_t max_fragment_bytes =
    fragment_bytes(max_boards) + std::size_t{2} * max_boards * (max_compression_words + 1);

// Datagram.
inline constexpr std::size_t datagram_header_bytes = 12;

struct datagram_header {
  std::uint32_t fragment_id = 0;
  std::uint32_t chunk = 0;
  std::uint32_t discriminator = 0;
};

[[nodiscard]] inline datagram_header read_datagram_header(const std::byte* p) {
  return {load_big<std::uint32_t>(p), load_big<std::uint32_t>(p + 4),
          load_big<std::uint32_t>(p + 8)};
}
inline void write_datagram_header(std::byte* p, const datagram_header& h) {
  store_big(p, h.fragment_id);
  store_big(p + 4, h.chunk);
  store_big(p + 8, h.discriminator);
}

/// The discriminator of a trailer or of an end of spill.
struct trailer {
  std::uint32_t count = 0; ///< 0 in the trailer of a fragment; events sent in the spill, 15 bits
  std::uint32_t spill = 0;
  std::uint32_t crate = 0;

  [[nodiscard]] static constexpr trailer unpack(std::uint32_t d) {
    return {d >> 17, (d >> 8) & spill_mask, d & 0xffU};
  }
  [[nodiscard]] constexpr std::uint32_t pack() const {
    return (count << 17) | ((spill & spill_mask) << 8) | (crate & 0xffU);
  }
};
inline constexpr std::uint32_t max_end_of_spill_count = 0x7fff;

/// A fragment's event number, from 1, and its crate's place in the configured list.
struct fragment_place {
  std::uint32_t event_number = 0;
  std::uint32_t crate = 0;
};
[[nodiscard]] constexpr fragment_place place_of(std::uint32_t fragment_id, std::uint32_t crates) {
  return {(fragment_id - 1) / crates + 1, (fragment_id - 1) % crates};
}
[[nodiscard]] constexpr std::uint32_t fragment_id_of(fragment_place at, std::uint32_t crates) {
  return crates * (at.event_number - 1) + at.crate + 1;
}

} // namespace l3::l2
