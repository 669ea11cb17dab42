// SPDX-License-Identifier: Apache-2.0
// The place of a board's packet, and everything else that a kernel must know before decoding it,
// in 32 bytes that it loads at once. With the tables a kernel would have to go from the board to
// its fragment, the fragment's pieces and the packet, and from the board to its event: dependent
// loads. A warp would also have to compare header and footer with six of its threads.
#pragma once

#include <cstdint>

#include "gpu/decode/packet.hpp"
#include "transport/format/block.hpp"

namespace l3 {

struct alignas(32) found_packet {
  /// The number of memory runs of a packet that can be decoded, each with whole 32-bit words.
  enum runs : std::uint32_t {
    none, ///< it cannot be decoded
    one,
    two,
    any ///< in more runs, or with divided words
  };

  std::uint32_t first = 0;       ///< of the packet's first byte, in the batch's input
  std::uint32_t second = 0;      ///< of the second run, likewise
  std::uint32_t first_bytes = 0; ///< of the first run
  std::uint32_t form = none;     ///< runs, plus the kind of the board
  std::uint32_t event = 0;       ///< index in the frame
  std::uint32_t source = 0;      ///< slot, plus the crate
  std::uint32_t outer = 0;       ///< board_form bits: header and footer as found
  std::uint32_t trigger = 0;     ///< payload of the first header word

  [[nodiscard]] L3_FN bool has_samples() const { return form % kinds != none; }
  [[nodiscard]] L3_FN bool lies_in(runs n) const { return form % kinds == n; }
  [[nodiscard]] L3_FN board_kind kind() const { return static_cast<board_kind>(form / kinds); }

  [[nodiscard]] L3_FN std::uint32_t slot() const { return source % slots; }
  [[nodiscard]] L3_FN std::uint32_t crate() const { return source / slots; }

  [[nodiscard]] L3_FN static found_packet of(const batch_view& in, const board_entry& board) {
    const fragment_entry fragment = in.fragments[board.fragment];
    found_packet p;
    p.form = kinds * static_cast<std::uint32_t>(board.kind);
    p.event = board.event;
    p.source = slots * fragment.crate + board.slot;
    if (board.opaque != 0 || !is_full_packet(board, fragment)) return p;
    const std::uint32_t piece = board.offset / fragment.piece_bytes;
    const std::uint32_t offset = board.offset - piece * fragment.piece_bytes;
    const piece_offset* const at = in.pieces.data() + fragment.first_piece + piece;
    p.first = at[0] + offset;
    p.first_bytes = fragment.piece_bytes - offset;
    const bool has_words = offset % sizeof(std::uint32_t) == 0;
    runs found = any;
    if (has_words && p.first_bytes >= l2::board_bytes) {
      found = one;
    } else if (has_words && p.first_bytes + fragment.piece_bytes >= l2::board_bytes) {
      found = two;
      p.second = at[1];
    }
    if (p.compare_outer_words(in, board, fragment, found)) p.form += found;
    return p;
  }

private:
  /// Finds `outer` and `trigger`. Returns false if a tag is wrong, so that the packet cannot be
  /// decoded.
  L3_FN bool compare_outer_words(const batch_view& in, const board_entry& board,
                                 const fragment_entry& fragment, runs found) {
    constexpr std::uint32_t word = sizeof(std::uint32_t);
    constexpr std::uint32_t both = 0x00010001;
    constexpr std::uint32_t last = (l2::board_bytes - 2 * l2::footer_words) / word;
    const auto half = [&](std::uint32_t at) -> std::uint32_t {
      return load<std::uint16_t>(byte_of(in.input, in.pieces.data(), fragment, board.offset + at));
    };
    const auto load_word = [&](std::uint32_t n) { // two samples in the machine's byte order
      std::uint32_t big = 0;
      if (found == any) {
        big = half(word * n) | half(word * n + word / 2) << 16;
      } else {
        const std::byte* const run =
            in.input + (word * n < first_bytes ? first : std::int64_t{second} - first_bytes);
        big = load<std::uint32_t>(aligned<word>(run + word * n));
      }
      return (big & 0xff * both) << 8 | (big >> 8 & 0xff * both);
    };
    const event_entry& of = in.events[board.event];
    const auto expected = [&](int n) -> std::uint32_t {
      return l2::expected_header_word(n, of.spill, of.number, board.slot, of.reference_time);
    };
    const std::uint32_t start = load_word(0);
    std::uint32_t header = start ^ (l2::header_tag * both);
    for (int n = 1; n < l2::header_words / 2; ++n)
      header |= load_word(n) ^ (expected(2 * n) | expected(2 * n + 1) << 16);
    std::uint32_t footer = 0;
    for (std::uint32_t n = 0; n < l2::footer_words / 2; ++n)
      footer |= load_word(last + n) ^ (l2::footer_tag * both);
    trigger = start & l2::payload_mask;
    if (header != 0) outer |= board_header_stored;
    if (footer != 0) outer |= board_footer_stored;
    return ((header & l2::wide_tag_mask * both) | (footer & l2::footer_tag_mask * both)) == 0;
  }

  static constexpr std::uint32_t kinds = 4;   ///< factor of the kind in `form`
  static constexpr std::uint32_t slots = 256; ///< factor of the crate in `source`
};

} // namespace l3
