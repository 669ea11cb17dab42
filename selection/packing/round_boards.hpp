// SPDX-License-Identifier: Apache-2.0
// round_boards: where lines let samples be rounded, one CUDA block for each board of an accepted
// event with an error measures the board anew, as its samples will be stored
// (transport/format/rounding.hpp). It runs before boards are encoded and placed, and changes form
// and length of the board, and minimum and N of its records. With the strong codec, boards that
// lack records stay exact where they may be off by one count only. The packet stays what it is: the
// kernels that encode and pack round the samples that they load.
#pragma once

#include <cstdint>

#include "gpu/codec/koto.hpp"
#include "gpu/decode/packet.hpp"
#include "selection/packing/frame_columns.hpp"
#include "selection/packing/measure.hpp"

namespace l3 {

/// Bytes of the greatest error of a rounded board.
inline constexpr std::uint32_t board_error_bytes = 1;

/// The records of a board that is not raw.
[[nodiscard]] L3_FN inline std::uint32_t records_of(const board_columns::view& boards,
                                                    std::uint32_t i) {
  return (boards.form[i] & board_limited) != 0 ? std::uint32_t{boards.records[i]} : all_records;
}

struct round_boards {
  static constexpr std::uint32_t width = 128;

  struct shared {
    staged_packet packet;
    measure_boards::lane_measures lanes;
    packet_findings found;
    std::uint32_t saved[packet_lanes]; // bytes, by lane
  };

  template <block B>
  L3_FN void operator()(const B& b, shared& s, const batch_view& in,
                        const frame_columns& columns) const {
    const std::uint32_t i = b.index();
    const board_entry board = in.boards[i];
    if (columns.events.accepted[board.event] == 0) return;
    const std::uint32_t error = columns.boards.error[i];
    if (error == 0 || (columns.boards.form[i] & board_raw) != 0) return;
    if (error == 1 && is_better_gathered(columns, i)) return;
    const std::uint32_t records = records_of(columns.boards, i);
    if (records == 0) return;
    s.packet.stage(b, in, in.fragments[board.fragment], board);
    b.sync();
    measure_boards::reduce_lanes(b, s.packet, s.lanes, s.found, board.kind);
    b.sync();
    const sample_rounding by(error);
    for_each(b, packet_lanes, [&](std::uint32_t lane) {
      const std::uint32_t low = by.multiple_of(s.found.minimum[lane] & l2::payload_mask);
      const std::uint32_t high = by.multiple_of(s.found.maximum[lane] & l2::payload_mask);
      const std::uint32_t bits = koto::bits_needed(high - low);
      const std::uint32_t record = record_of(lane, board.kind);
      const std::uint32_t at = packet_lanes * i + record;
      // Multiples are never farther apart than their samples.
      const bool is_kept = (records >> record & 1) != 0;
      s.saved[lane] = is_kept ? koto::octets * (columns.records.bits[at] - bits) : 0;
      columns.records.minimum[at] = static_cast<std::uint16_t>(low);
      columns.records.bits[at] = static_cast<std::uint8_t>(bits);
    });
    b.sync();
    for_each(b, 1, [&](std::uint32_t) {
      board_shape shape{columns.boards.form[i], columns.boards.bytes[i]};
      shape.form |= board_rounded;
      shape.bytes += board_error_bytes;
      for (const std::uint32_t saved : s.saved) shape.bytes -= saved;
      measure_boards::write_shape(i, shape, columns);
    });
  }

private:
  /// Whether the strong codec takes the records of the board into groups of the event
  /// (gather_records.hpp) if they stay as they came. It then saves more bytes than one count of
  /// error does, which keeps them KOTO records (docs/decisions/0036-gathered-records.md).
  [[nodiscard]] L3_FN static bool is_better_gathered(const frame_columns& columns,
                                                     std::uint32_t i) {
    return columns.encoded.size() != 0 && (columns.boards.form[i] & board_limited) != 0;
  }
};

} // namespace l3
