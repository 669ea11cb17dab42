// SPDX-License-Identifier: Apache-2.0
// Finds a board in its fragment without a table, by walking over the packets before it: the first
// word of a plain packet is its number of rows (0: 64), an opaque one ends behind its footer. The
// result is right for fragments that the receivers admit; in any other fragment the walk stays
// within its bounds.
#pragma once

#include <cstdint>

#include "gpu/decode/packet.hpp"
#include "transport/format/l2.hpp"

namespace l3 {

struct found_board {
  bool found = false;
  bool opaque = false;
  std::uint32_t number = 0; ///< index among the boards of the fragment
  std::uint32_t offset = 0; ///< first byte in the fragment
  std::uint32_t bytes = 0;  ///< of a plain packet
};

class fragment_walk {
public:
  L3_FN fragment_walk(const batch_view& in, const fragment_entry& fragment)
      : in_(in), fragment_(fragment), end_(boards_end(fragment)) {}

  [[nodiscard]] L3_FN found_board find(std::uint32_t slot) const {
    found_board b;
    b.offset = l2::fragment_header_bytes;
    for (; b.number < fragment_.boards && b.offset + header_bytes <= end_; ++b.number) {
      b.opaque = (word(b.offset + word_bytes) & l2::compressed_bit) != 0;
      const std::uint32_t rows = word(b.offset) & l2::payload_mask;
      b.bytes = rows == 0 ? l2::board_bytes
                          : 2 * (l2::header_words + packet_lanes * rows + l2::footer_words);
      const std::uint32_t slot_here = l2::slot_of(word(b.offset + 4 * word_bytes));
      if (slot_here >= slot) {
        b.found = slot_here == slot;
        return b;
      }
      b.offset = b.opaque ? end_of_opaque(b.offset) : b.offset + b.bytes;
    }
    return b;
  }

private:
  static constexpr std::uint32_t word_bytes = sizeof(std::uint16_t);
  static constexpr std::uint32_t header_bytes = word_bytes * l2::header_words;

  [[nodiscard]] L3_FN static std::uint32_t boards_end(const fragment_entry& f) {
    return f.bytes < l2::fragment_trailer_bytes ? 0 : f.bytes - l2::fragment_trailer_bytes;
  }

  /// Words do not cross pieces.
  [[nodiscard]] L3_FN std::uint16_t word(std::uint32_t offset) const {
    return load_big<std::uint16_t>(
        aligned<word_bytes>(byte_of(in_.input, in_.pieces.data(), fragment_, offset)));
  }

  /// The number of words from `at` on with this tag, `limit` at most.
  [[nodiscard]] L3_FN std::uint32_t count(std::uint32_t at, std::uint32_t limit, std::uint16_t mask,
                                          std::uint16_t tag) const {
    std::uint32_t n = 0;
    while (n < limit && at + (n + 1) * word_bytes <= end_ &&
           (word(at + n * word_bytes) & mask) == tag)
      ++n;
    return n;
  }

  [[nodiscard]] L3_FN std::uint32_t end_of_opaque(std::uint32_t at) const {
    at += header_bytes;
    at += word_bytes * count(at, l2::max_compression_words, l2::wide_tag_mask, l2::header_tag);
    const std::uint32_t samples = count(at, l2::sample_words, l2::wide_tag_mask, l2::sample_tag);
    at += word_bytes * (samples + l2::footer_words);
    return samples % 2 != 0 ? at + word_bytes : at; // one word of padding
  }

  const batch_view& in_;
  const fragment_entry& fragment_;
  std::uint32_t end_;
};

} // namespace l3
