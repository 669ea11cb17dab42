// SPDX-License-Identifier: Apache-2.0
// The place of a board's packet, and everything else that a kernel must know before decoding it,
// in 32 bytes that it loads at once. With the tables a kernel would have to go from the board to
// its fragment, the fragment's pieces and the packet, and from the board to its event: dependent
// loads. A warp would also have to compare header and footer with six of its threads.
#pragma once

#include <cstdint>

#include "gpu/decode/packet.hpp"

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
  std::uint32_t first_bytes = 0; ///< length of the first run, or of an undecodable packet
  std::uint32_t form = none;     ///< runs, plus the kind of the board
  std::uint32_t event = 0;       ///< index in the frame
  std::uint32_t source = 0;      ///< slot, plus the crate
  std::uint32_t outer = 0;       ///< board_form bits: what header and footer need to be stored
  std::uint32_t trigger = 0;     ///< payload of the first header word

  [[nodiscard]] L3_FN bool has_samples() const { return form % kinds != none; }
  [[nodiscard]] L3_FN bool lies_in(runs n) const { return form % kinds == n; }
  [[nodiscard]] L3_FN board_kind kind() const { return static_cast<board_kind>(form / kinds); }

  [[nodiscard]] L3_FN std::uint32_t slot() const { return source % slots; }
  [[nodiscard]] L3_FN std::uint32_t crate() const { return source / slots; }

  [[nodiscard]] L3_FN static found_packet of(const batch_view& in, const board_entry& board,
                                             const board_home& home) {
    const fragment_entry fragment = in.fragments[home.fragment];
    found_packet p;
    p.form = kinds * static_cast<std::uint32_t>(board.kind);
    p.event = home.event;
    p.source = slots * fragment.crate + board.slot;
    p.first_bytes = packet_bytes(board, fragment);
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
    const auto word = [&](int n) -> std::uint32_t {
      constexpr std::size_t size = sizeof(std::uint16_t);
      const auto w = static_cast<std::uint32_t>(size * static_cast<std::size_t>(n));
      const std::byte* from = in.input + p.first + w;
      if (w >= p.first_bytes) from += std::int64_t{p.second} - p.first_bytes - p.first;
      if (found == any) from = byte_of(in.input, in.pieces.data(), fragment, board.offset + w);
      return load_big<std::uint16_t>(aligned<size>(from));
    };
    p.trigger = word(0) & l2::payload_mask;
    p.outer = form_of_outer_words(in.events[home.event], board.slot, word);
    if (p.outer == board_raw)
      p.first_bytes = l2::board_bytes;
    else
      p.form += found;
    return p;
  }

private:
  static constexpr std::uint32_t kinds = 4;   ///< factor of the kind in `form`
  static constexpr std::uint32_t slots = 256; ///< factor of the crate in `source`
};

} // namespace l3
