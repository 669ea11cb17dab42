// SPDX-License-Identifier: Apache-2.0
// The place of a board's packet, and everything else that a kernel must know before decoding it,
// in 32 bytes that it loads at once. With the tables a kernel would have to go from the board to
// its fragment, the fragment's pieces and the packet, and from the board to its event: dependent
// loads.
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
  std::uint32_t first_bytes = 0; ///< of the first run
  std::uint32_t form = none;     ///< runs, plus the kind of the board
  std::uint32_t event = 0;       ///< index in the frame
  std::uint32_t source = 0;      ///< slot, plus the crate
  /// The expected second and third 32-bit words of the header, with tags, in the machine's byte
  /// order; the first one has only tags.
  std::uint32_t time = 0;
  std::uint32_t number = 0;

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
    const event_entry& event = in.events[board.event];
    const auto words = [&](int from) {
      const auto word = [&](int w) -> std::uint32_t {
        return l2::expected_header_word(w, event.spill, event.number, board.slot,
                                        event.reference_time);
      };
      return word(from) | word(from + 1) << 16;
    };
    p.time = words(2);
    p.number = words(4);
    const std::uint32_t piece = board.offset / fragment.piece_bytes;
    const std::uint32_t offset = board.offset - piece * fragment.piece_bytes;
    const piece_offset* const at = in.pieces.data() + fragment.first_piece + piece;
    p.first = at[0] + offset;
    p.first_bytes = fragment.piece_bytes - offset;
    const bool has_words = offset % sizeof(std::uint32_t) == 0;
    if (has_words && p.first_bytes >= l2::board_bytes) {
      p.form += one;
    } else if (has_words && p.first_bytes + fragment.piece_bytes >= l2::board_bytes) {
      p.form += two;
      p.second = at[1];
    } else {
      p.form += any;
    }
    return p;
  }

private:
  static constexpr std::uint32_t kinds = 4;   ///< factor of the kind in `form`
  static constexpr std::uint32_t slots = 256; ///< factor of the crate in `source`
};

} // namespace l3
