// SPDX-License-Identifier: Apache-2.0
// encode_boards: the strong codec (gpu/codec/strong.hpp) for boards of accepted events, between
// the decision and the place kernels: only the encoder knows how long a group becomes. It writes
// the data of each board to a slot of its own, and the data's length to the board's column.
// copy_encoded_boards brings the data to its place. A group is a whole board, or 16 records of
// boards that lack some (gather_records.hpp). Rounded samples are coded as the numbers of their
// multiples, and stay KOTO records where these are shorter: the codec was made for the noise of
// samples as they come, and of quiet multiples a pulse costs it much.
//
// A block takes four boards: on a CPU the vectors code their groups side by side, on CUDA devices
// eight threads each (encode.cuh), and other executors take a lane for each.
#pragma once

#include <cstdint>

#include "gpu/codec/encode_groups.hpp"
#include "gpu/decode/packet.hpp"
#include "gpu/executors/solo.hpp"
#include "selection/packing/frame_columns.hpp"
#include "selection/packing/gather_records.hpp"
#include "selection/packing/pack.hpp"

namespace l3 {

/// Whether a device of the queue has a form of encode_boards: the portable one keeps the residuals
/// of a group in a lane's own memory, which is slow memory on devices.
template <class Queue>
inline constexpr bool can_encode = true;

struct encode_boards {
  static constexpr std::uint32_t width = 32;
  static constexpr std::uint32_t boards = 4; // of a block

  struct shared {
    staged_packet packet;
    strong::plain_groups<boards> groups;
  };

  [[nodiscard]] static std::uint32_t blocks(const batch_view& in) {
    return (in.boards.size() + boards - 1) / boards;
  }

  /// The slot of a board. Its data ends where the slot ends: the head of a group is made last.
  [[nodiscard]] L3_FN static std::byte* slot(const frame_columns& columns, std::uint32_t i) {
    return columns.encoded.data() + std::size_t{i} * encoded_slot_bytes;
  }

  static constexpr std::uint32_t no_board = gather_records::no_board;

  /// The board that is encoded in turn n, which is its own but in suppressed events.
  [[nodiscard]] L3_FN static std::uint32_t
  board_of_turn(const batch_view& in, const frame_columns& columns, std::uint32_t n) {
    if (n >= in.boards.size()) return no_board;
    const std::uint32_t event = in.boards[n].event;
    if (gather_records::takes(columns, event)) return columns.boards.turn[n];
    const bool is_coded = columns.events.accepted[event] != 0 &&
                          (columns.boards.form[n] & (board_raw | board_limited)) == 0;
    return is_coded ? n : no_board;
  }
  /// Whether the data of a board of this form, once it is encoded, is in its slot.
  [[nodiscard]] L3_FN static bool has_slot(const frame_columns& columns, std::uint32_t i,
                                           std::uint32_t form) {
    return (form & board_strong) != 0 &&
           ((form & board_limited) == 0 || gather_records::begins_group(columns.boards, i));
  }
  /// Gathered records are of boards of both kinds.
  [[nodiscard]] L3_FN static strong::shape shape_of(board_kind kind, std::uint32_t form) {
    return kind == board_kind::sampling_125_mhz || (form & board_limited) != 0
               ? strong::shape::short_ones
               : strong::shape::long_ones;
  }
  /// Bytes of a board's data before its group.
  [[nodiscard]] L3_FN static std::uint32_t stored_bytes(std::uint32_t form) {
    return ((form & board_limited) != 0 ? board_mask_bytes : 0U) +
           ((form & board_rounded) != 0 ? board_error_bytes : 0U) +
           pack_boards::stored_words_bytes(form);
  }
  /// Notes that the group of the board has so many bytes, unless the board is better without it.
  L3_FN static void conclude(const frame_columns& columns, std::uint32_t i, std::uint32_t bytes) {
    const std::uint32_t form = columns.boards.form[i] | board_strong;
    const std::uint32_t with_group = stored_bytes(form) + bytes;
    if ((form & board_rounded) != 0 && columns.boards.bytes[i] <= with_group) return;
    columns.boards.form[i] = static_cast<std::uint8_t>(form);
    columns.boards.bytes[i] = static_cast<std::uint16_t>(with_group);
  }

  template <block B>
  L3_FN void operator()(const B& b, shared& s, const batch_view& in,
                        const frame_columns& columns) const {
    for (std::uint32_t k = 0; k < boards; ++k) {
      const std::uint32_t i = board_of_turn(in, columns, boards * b.index() + k);
      for_each(b, 1, [&](std::uint32_t) { s.groups.used[k] = i != no_board ? 1 : 0; });
      if (i != no_board) take(b, s, in, columns, i, k);
    }
    b.sync();
    strong::encode(b, s.groups);
    b.sync();
    for (std::uint32_t k = 0; k < boards; ++k) {
      if (s.groups.used[k] == 0) continue;
      const std::uint32_t i = board_of_turn(in, columns, boards * b.index() + k);
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
    const std::uint32_t form = columns.boards.form[i];
    std::byte* to = slot(columns, i);
    s.packet.stage(b, in, in.fragments[board.fragment], board);
    b.sync();
    if ((form & board_limited) != 0) {
      pack_boards::put_mask(b, columns.boards.records[i], to);
      to += board_mask_bytes;
    }
    if ((form & board_rounded) != 0) {
      pack_boards::put_error(b, columns, i, to);
      to += board_error_bytes;
      s.packet.round(b, board.kind, sample_rounding(columns.boards.error[i]));
      b.sync();
    }
    for_each(b, 1, [&](std::uint32_t) { s.groups.shapes[k] = shape_of(board.kind, form); });
    pack_boards::write_stored_words(b, s.packet, form, to);
    if ((form & board_limited) == 0)
      copy_records(b, s, board.kind, all_records, k, 0);
    else
      gather(b, s, in, columns, i, k);
    b.sync();
  }

  /// Copies the records of the board, whose packet is staged, and of the boards behind it, until
  /// the group is full or the event ends.
  template <block B>
  L3_FN static void gather(const B& b, shared& s, const batch_view& in,
                           const frame_columns& columns, std::uint32_t i, std::uint32_t k) {
    const event_entry event = in.events[in.boards[i].event];
    std::uint32_t records = columns.boards.gathered[i];
    for (auto n = gather_records::records_before_group(columns.boards, i); n > 0; --n)
      records &= records - 1;
    std::uint32_t taken = 0;
    for (std::uint32_t j = i;;) {
      if (records != 0) copy_records(b, s, in.boards[j].kind, records, k, taken);
      taken += ones(records);
      if (++j == event.first_board + event.boards || taken >= strong::group_records) break;
      records = columns.boards.gathered[j];
      if (records == 0) continue;
      b.sync();
      s.packet.stage(b, in, in.fragments[in.boards[j].fragment], in.boards[j]);
      b.sync();
    }
    if (taken >= strong::group_records) return;
    for_each(b, (strong::group_records - taken) * packet_rows,
             [&](std::uint32_t n) { s.groups.samples[k][packet_rows * taken + n] = 0; });
  }

  /// Copies records of the staged packet behind the first ones of the group, as far as they fit.
  template <block B>
  L3_FN static void copy_records(const B& b, shared& s, board_kind kind, std::uint32_t records,
                                 std::uint32_t k, std::uint32_t taken) {
    const std::uint16_t* const words = s.packet.by_lane(kind);
    for_each(b, packet_lanes, packet_rows, [&](std::uint32_t lane, std::uint32_t row) {
      const std::uint32_t record = record_of(lane, kind);
      const std::uint32_t to = taken + ones(records & ((1U << record) - 1));
      if ((records >> record & 1) == 0 || to >= strong::group_records) return;
      s.groups.samples[k][packet_rows * to + row] =
          words[packet_lanes * row + lane] & l2::payload_mask;
    });
  }
};

/// One CUDA block for each board of a kept event brings the data of encode_boards to its place, and
/// packs what was not encoded.
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
    if (!encode_boards::has_slot(columns, i, form))
      return pack_boards::pack_reduced(b, s, in, columns, i, to);
    const std::byte* const slot = encode_boards::slot(columns, i);
    const std::uint32_t stored = encode_boards::stored_bytes(form);
    for_each(b, stored, [&](std::uint32_t k) { to[k] = slot[k]; });
    const std::byte* const group = slot + encoded_slot_bytes - (bytes - stored);
    for_each(b, bytes - stored, [&](std::uint32_t k) { to[stored + k] = group[k]; });
  }
};

} // namespace l3

#if defined(__CUDACC__)
#include "selection/packing/encode.cuh" // included here so that no device source can leave it out
#endif
