// SPDX-License-Identifier: Apache-2.0
// The tables of a frame's input buffer: events, their fragments, the pieces in which a fragment
// arrived, and its boards. Receivers write them and kernels read them; usable in device code.
//
// A fragment that came as datagrams is in pieces of equal length (the last may be shorter), in
// place of each datagram's payload; one that came over TCP is a single piece.
#pragma once

#include <cstddef>
#include <cstdint>

#include "transport/format/readout.hpp"

namespace l3 {

/// An additional flag of an event_entry: the sender keeps the event until the daemon acknowledges
/// it, so the event can wait.
inline constexpr std::uint32_t event_kept_by_sender = 1U << 31;

struct event_entry {
  std::uint32_t spill = 0;
  std::uint32_t number = 0;
  std::uint32_t first_fragment = 0;
  std::uint32_t fragments = 0;
  std::uint32_t first_board = 0;
  std::uint32_t boards = 0;
  std::uint32_t flags = 0;          ///< event_flag bits known at admission, and the one above
  std::uint32_t reference_time = 0; ///< of the first non-opaque board, 28 bits
  std::uint64_t completed_at = 0;   ///< when its last fragment arrived, see to_table()
};

struct fragment_entry {
  std::uint32_t first_piece = 0;
  std::uint32_t piece_bytes = 0; ///< length of each piece but the last; a multiple of 4
  std::uint32_t bytes = 0;
  std::uint32_t first_board = 0;
  std::uint16_t boards = 0; ///< 0 in a raw fragment
  std::uint8_t crate = 0;   ///< place in the readout list
  std::uint8_t raw = 0;     ///< 1: damaged, stored byte for byte
};

/// Offset of a piece in the frame's input buffer; a multiple of 4.
using piece_offset = std::uint32_t;

struct alignas(8) board_entry {
  std::uint16_t offset = 0; ///< of the packet in its fragment
  std::uint16_t bytes = 0;  ///< of the packet, pad included
  std::uint8_t slot = 0;
  board_kind kind = board_kind::sampling_125_mhz;
  std::uint8_t opaque = 0; ///< 1: the board compressed its samples
  std::uint8_t reserved = 0;
};
static_assert(l2::max_fragment_bytes <= UINT16_MAX);

/// Address of byte `offset` of a fragment in the input buffer.
[[nodiscard]] L3_FN inline const std::byte* byte_of(const std::byte* input,
                                                    const piece_offset* pieces,
                                                    const fragment_entry& f, std::uint32_t offset) {
  const std::uint32_t piece = offset / f.piece_bytes;
  return input + pieces[f.first_piece + piece] + (offset - piece * f.piece_bytes);
}

} // namespace l3
