// SPDX-License-Identifier: Apache-2.0
#include "transport/file/check_batch.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "transport/format/endian.hpp"

namespace l3 {
namespace {

constexpr std::uint32_t max_crates = 64;

bool within(std::uint64_t first, std::uint64_t n, std::uint64_t size) {
  return first <= size && n <= size - first;
}

bool good_pieces(const batch_file& b, const fragment_entry& f) {
  if (f.piece_bytes == 0 || f.piece_bytes % 4 != 0) return false;
  const std::uint64_t pieces = (std::uint64_t{f.bytes} + f.piece_bytes - 1) / f.piece_bytes;
  if (!within(f.first_piece, pieces, b.pieces.size())) return false;
  for (std::uint64_t k = 0; k < pieces; ++k) {
    const piece_offset at = b.pieces[f.first_piece + k];
    const std::uint64_t n = std::min<std::uint64_t>(f.piece_bytes, f.bytes - k * f.piece_bytes);
    if (at % 4 != 0 || !within(at, n, b.input.size())) return false;
  }
  return true;
}

/// Boards as admission leaves them: each slot once, and packets that share no byte.
bool good_boards(const batch_file& b, const fragment_entry& f, std::uint32_t index,
                 std::uint32_t event) {
  std::uint32_t slot_before = l2::first_slot - 1;
  std::uint32_t end = 0;
  for (std::uint32_t k = 0; k < f.boards; ++k) {
    const board_entry& board = b.boards[f.first_board + k];
    if (board.event != event || board.fragment != index || board.offset < end ||
        !within(board.offset, board.bytes, f.bytes))
      return false;
    if (board.slot <= slot_before || board.slot > l2::last_slot || board.opaque > 1 ||
        board.kind > board_kind::sampling_500_mhz)
      return false;
    slot_before = board.slot;
    end = board.offset + board.bytes;
  }
  return true;
}

bool good_fragment(const batch_file& b, std::uint32_t index, std::uint32_t event) {
  const fragment_entry& f = b.fragments[index];
  if (f.crate >= max_crates || f.raw > 1 || f.bytes > l2::max_fragment_bytes) return false;
  if (index > b.events[event].first_fragment && f.crate <= b.fragments[index - 1].crate)
    return false;
  if ((f.raw != 0 && f.boards != 0) || !within(f.first_board, f.boards, b.boards.size()))
    return false;
  return good_boards(b, f, index, event) && good_pieces(b, f);
}

} // namespace

std::string wrong_with(const batch_file& b) {
  std::uint32_t fragments = 0;
  std::uint32_t boards = 0;
  std::uint64_t bytes = 0;
  for (std::uint32_t e = 0; e < b.events.size(); ++e) {
    const event_entry& event = b.events[e];
    const auto text = fmt::format("event {} of its table is none", e);
    if (event.first_fragment != fragments || event.first_board != boards) return text;
    if (!within(fragments, event.fragments, b.fragments.size())) return text;
    std::uint32_t of_fragments = 0;
    for (std::uint32_t k = 0; k < event.fragments; ++k) {
      const fragment_entry& f = b.fragments[fragments + k];
      if (f.first_board != boards + of_fragments || !good_fragment(b, fragments + k, e))
        return text;
      of_fragments += f.boards;
      bytes += f.bytes;
    }
    if (event.boards != of_fragments) return text;
    fragments += event.fragments;
    boards += event.boards;
  }
  if (fragments != b.fragments.size() || boards != b.boards.size())
    return "its tables hold more than its events";
  if (bytes > b.input.size()) return "its fragments are longer than its input";
  if (!b.results.empty() && b.results.size() != b.events.size())
    return "it has results of another number of events";
  return {};
}

} // namespace l3
