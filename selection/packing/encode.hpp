// SPDX-License-Identifier: Apache-2.0
// encode_boards: the strong codec (gpu/codec/strong.hpp) for boards of accepted events. It runs
// between the decision and the place kernels, because only the encoder knows the length of a group.
// It writes the data of each board to its own slot, and their length to the board's column.
// copy_encoded_boards copies the data to their place. A group is a whole board; boards without some
// records stay KOTO records.
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

  /// The slot of a board. Its data end at the slot's end: the head of a group is written last.
  [[nodiscard]] L3_FN static std::byte* slot(const frame_columns& columns, std::uint32_t i) {
    return columns.encoded.data() + std::size_t{i} * encoded_slot_bytes;
  }

  /// Whether board i exists and is encoded.
  [[nodiscard]] L3_FN static bool codes(const batch_view& in, const frame_columns& columns,
                                        std::uint32_t i) {
    return i < in.boards.size() && columns.events.accepted[in.boards[i].event] != 0 &&
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
    columns.boards.bytes[i] =
        static_cast<std::uint16_t>(pack_boards::stored_words_bytes(form) + bytes);
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
      copy_out(b, s.groups.coded + s.groups.at[k], slot(columns, i) + encoded_slot_bytes - bytes,
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
    s.packet.stage(b, in, in.fragments[board.fragment], board);
    b.sync();
    for_each(b, 1, [&](std::uint32_t) { s.groups.shapes[k] = shape_of(board.kind); });
    pack_boards::write_stored_words(b, s.packet, columns.boards.form[i], slot(columns, i));
    const std::uint16_t* const words = s.packet.by_lane(board.kind);
    for_each(b, packet_lanes, packet_rows, [&](std::uint32_t lane, std::uint32_t row) {
      s.groups.samples[k][packet_rows * record_of(lane, board.kind) + row] =
          words[packet_lanes * row + lane] & l2::payload_mask;
    });
    b.sync();
  }
};

/// One CUDA block per board of a kept event copies the data of encode_boards to their place, and
/// packs boards that were not encoded.
struct copy_encoded_boards {
  static constexpr std::uint32_t width = 32;

  using shared = pack_boards::shared;

  template <block B>
  L3_FN void operator()(const B& b, shared& s, const batch_view& in, const frame_columns& columns,
                        output_view out) const {
    const std::uint32_t i = b.index();
    const board_entry board = in.boards[i];
    const event_result& result = columns.events.results[board.event];
    if (!result.kept) return;
    std::byte* const to = out.bytes + result.offset + columns.boards.at[i];
    const std::uint32_t form = columns.boards.form[i];
    const std::uint32_t bytes = columns.boards.bytes[i];
    if ((form & board_raw) != 0)
      return copy_range(b, in, in.fragments[board.fragment], board.offset, bytes, to);
    if ((form & board_strong) == 0) return pack_boards::pack_limited(b, s, in, columns, i, to);
    const std::byte* const slot = encode_boards::slot(columns, i);
    const std::uint32_t stored = pack_boards::stored_words_bytes(form);
    for_each(b, stored, [&](std::uint32_t k) { to[k] = slot[k]; });
    const std::byte* const group = slot + encoded_slot_bytes - (bytes - stored);
    for_each(b, bytes - stored, [&](std::uint32_t k) { to[stored + k] = group[k]; });
  }
};

} // namespace l3

#if defined(__CUDACC__)
#include "selection/packing/encode.cuh" // included here so that no device source can leave it out
#endif
