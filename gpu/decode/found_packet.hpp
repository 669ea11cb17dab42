// SPDX-License-Identifier: Apache-2.0
// Where the packet of a board lies, and what else a kernel must know before it decodes it, in 32
// bytes that it loads at once. From the tables a kernel would have to go from the board to its
// fragment, to the fragment's pieces and to the packet, and from the board to its event: loads that
// wait for one another.
#pragma once

#include <cstdint>

#include "gpu/decode/packet.hpp"

namespace l3 {

struct alignas(32) found_packet {
  /// In how many runs of memory a packet that can be decoded lies, with words of 32 bits in each.
  enum runs : std::uint32_t {
    none, ///< it cannot be decoded
    one,
    two,
    any ///< in more, or in words that break
  };

  std::uint32_t first = 0;       ///< of the packet's first byte, in the batch's input
  std::uint32_t second = 0;      ///< of the second run, likewise
  std::uint32_t first_bytes = 0; ///< of the first run
  std::uint32_t form = none;     ///< runs, and the kind of the board above
  std::uint32_t event = 0;       ///< index in the frame
  std::uint32_t source = 0;      ///< slot, and the crate above
  /// What the event says the second and third word of 32 bits of the header are, tags included, in
  /// the machine's order of bytes; the first one has tags alone.
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
  static constexpr std::uint32_t kinds = 4;   ///< the place of the kind in `form`
  static constexpr std::uint32_t slots = 256; ///< the place of the crate in `source`
};

} // namespace l3
