// SPDX-License-Identifier: Apache-2.0
// encode_boards: the strong codec (gpu/codec/strong.hpp) for boards of accepted events. It writes
// the data of each board to its slot, and their length to the board's column: the stored words at
// the start of the slot, the group at its end, because the head of a group is written last. A group
// is a whole board; boards without some records stay KOTO records.
//
// A block takes four boards: on a CPU vector instructions code their groups in parallel, on CUDA
// devices eight threads each (encode.cuh), and other executors use a lane for each.
#pragma once

#include <cstdint>

#include "gpu/codec/encode_groups.hpp"
#include "gpu/decode/packet.hpp"
#include "gpu/executors/solo.hpp"
#include "selection/packing/frame_columns.hpp"
#include "selection/packing/pack.hpp"

namespace l3 {

/// Whether a device of the queue has a form of encode_boards: the portable form keeps the residuals
/// of a group in a lane's own memory, which is slow on devices.
template <class Queue>
inline constexpr bool can_encode = true;

struct encode_boards {
  static constexpr std::uint32_t width = 32;
  static constexpr std::uint32_t boards = 4; // per block

  struct shared {
    staged_packet packet;
    strong::plain_groups<boards> groups;
  };

  [[nodiscard]] static std::uint32_t blocks(const batch_view& in) {
    return (in.boards.size() + boards - 1) / boards;
  }

  /// Whether board i exists and is encoded.
  [[nodiscard]] L3_FN static bool codes(const batch_view& in, const frame_columns& columns,
                                        std::uint32_t i) {
    return i < in.boards.size() && columns.events.accepted[in.homes[i].event] != 0 &&
           (columns.boards.form[i] & (board_raw | board_limited)) == 0;
  }
  [[nodiscard]] L3_FN static strong::shape shape_of(board_kind kind) {
    return kind == board_kind::sampling_125_mhz ? strong::shape::short_ones
                                                : strong::shape::long_ones;
  }
  /// Records the length of the board's group.
  L3_FN static void conclude(const frame_columns& columns, std::uint32_t i, std::uint32_t bytes) {
    const std::uint32_t form = columns.boards.form[i] | board_strong;
    columns.boards.form[i] = static_cast<std::uint8_t>(form);
    columns.boards.bytes[i] = static_cast<std::uint16_t>(stored_words_bytes(form) + bytes);
  }

  template <block B>
  L3_FN void operator()(const B& b, shared& s, const batch_view& in,
                        const frame_columns& columns) const {
    for (std::uint32_t k = 0; k < boards; ++k) {
      const std::uint32_t i = boards * b.index() + k;
      const bool is_coded = codes(in, columns, i);
      for_each(b, 1, [&](std::uint32_t) { s.groups.used[k] = is_coded ? 1 : 0; });
      if (is_coded) take(b, s, in, columns, i, k);
    }
    b.sync();
    strong::encode(b, s.groups);
    b.sync();
    for (std::uint32_t k = 0; k < boards; ++k) {
      if (s.groups.used[k] == 0) continue;
      const std::uint32_t i = boards * b.index() + k;
      const std::uint32_t bytes = s.groups.bytes[k];
      copy_out(b, s.groups.coded + s.groups.at[k], columns.slot(i) + board_slot_bytes - bytes,
               bytes);
      for_each(b, 1, [&](std::uint32_t) { conclude(columns, i, bytes); });
    }
  }

private:
  /// Copies the samples of a board, record by record, and the words that its form stores.
  template <block B>
  L3_FN static void take(const B& b, shared& s, const batch_view& in, const frame_columns& columns,
                         std::uint32_t i, std::uint32_t k) {
    const board_entry board = in.boards[i];
    s.packet.stage(b, in, in.fragment_of(i), board);
    b.sync();
    for_each(b, 1, [&](std::uint32_t) { s.groups.shapes[k] = shape_of(board.kind); });
    pack_boards::write_stored_words(b, s.packet, columns.boards.form[i], columns.slot(i));
    const std::uint16_t* const words = s.packet.by_lane(board.kind);
    for_each(b, packet_lanes, packet_rows, [&](std::uint32_t lane, std::uint32_t row) {
      s.groups.samples[k][packet_rows * record_of(lane, board.kind) + row] =
          words[packet_lanes * row + lane] & l2::payload_mask;
    });
    b.sync();
  }
};

} // namespace l3

#if defined(__CUDACC__)
#include "selection/packing/encode.cuh" // included here so that no device source can leave it out
#endif
