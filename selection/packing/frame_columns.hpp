// SPDX-License-Identifier: Apache-2.0
// The columns that the packing kernels exchange: by record, by board, by fragment and by event of a
// frame. Together they are a few per cent of the size of the frame's input.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/columns/soa.hpp"
#include "gpu/decode/found_packet.hpp"
#include "gpu/memory/buffer.hpp"
#include "gpu/memory/frame.hpp"
#include "transport/format/batch_capacity.hpp"
#include "transport/format/block.hpp"
#include "transport/format/payload.hpp"
#include "transport/format/summary.hpp"

namespace l3 {

/// Written by measure, for boards that are not raw. Records are numbered 16 × board + record in the
/// order of docs/formats.md.
template <template <class> class column>
struct record_fields {
  column<std::uint16_t> minimum;
  column<std::uint8_t> bits; ///< N
};
using record_columns = soa<record_fields>;

template <template <class> class column>
struct board_fields {
  column<std::uint8_t> form;   ///< board_form; written by measure
  column<std::uint16_t> bytes; ///< length of the board's data; written by measure
  column<std::uint32_t> at;    ///< offset of the data in the packed event, or not_packed;
                               ///< written by place
  // Only for boards with the form limited, written by algorithms/keep_waveforms.hpp:
  column<std::uint16_t> records; ///< bit r: record r is kept
  column<std::uint16_t> rows;    ///< bit r: row r of `pulses` is kept, if the form has features
};
using board_columns = soa<board_fields>;

/// In board_fields::at of all boards of rejected events.
inline constexpr std::uint32_t not_packed = 0xffffffff;

/// Written by place.
template <template <class> class column>
struct fragment_fields {
  column<std::uint64_t> bytes;   ///< length of the fragment's data
  column<std::uint32_t> at;      ///< offset of the data in the packed event
  column<std::uint16_t> damaged; ///< boards that cannot be decoded
  column<std::uint16_t> opaque;  ///< number of boards
};
using fragment_columns = soa<fragment_fields>;

template <template <class> class column>
struct event_fields {
  column<std::uint8_t> accepted; ///< 1 until a kernel decides
  column<event_result> results;  ///< written by place
};
using event_columns = soa<event_fields>;

/// The pulse rows, some of which packing stores in events with features only: columns of the slot
/// `pulses` (selection/sequence/slots.hpp), 16 rows per board.
struct pulse_rows {
  column<const std::uint16_t> pedestal;
  column<const std::uint16_t> peak;
  column<const std::uint16_t> time;
  column<const std::uint8_t> peak_sample;
  column<const std::uint8_t> flags;
  column<const std::int32_t> sum;
};

/// The output of the selection that packing reads; empty without a selection.
struct selected_columns {
  column<const event_summary> summaries;
  column<const packed_line> lines;
  column<const packed_line_payload> payloads; ///< of the lines; empty if all keep all waveforms
  std::uint32_t settings = 0;                 ///< hash of the selection's settings
  std::uint32_t levels = 0;                   ///< hash of the levels of quiet waveforms
  pulse_rows pulses;                          ///< for events with features only

  /// Length of the event's packed summary.
  [[nodiscard]] L3_FN std::uint32_t summary_bytes(std::uint32_t event) const {
    return summaries.size() == 0
               ? 0
               : packed_summary_bytes(summaries[event].lines, summaries[event].photons,
                                      summaries[event].hits);
  }
  /// Length of the payload table, the same for all events.
  [[nodiscard]] L3_FN std::uint32_t payload_bytes() const {
    return payloads.size() == 0 ? 0 : packed_payload_bytes(payloads.size());
  }
};

/// Room for the packed data of a board that is not raw, in either codec. A multiple of 16.
inline constexpr std::uint32_t board_slot_bytes = 2080;
/// Where KOTO records begin in a slot, a multiple of 16. All that precedes them ends there.
inline constexpr std::uint32_t records_in_slot = 32;

/// Length of the header and footer words that the form stores.
[[nodiscard]] L3_FN inline std::uint32_t stored_words_bytes(std::uint32_t form) {
  return ((form & board_header_stored) != 0 ? 2U * l2::header_words : 0U) +
         ((form & board_footer_stored) != 0 ? 2U * l2::footer_words : 0U);
}
/// Length of everything that precedes the KOTO records of a board.
[[nodiscard]] L3_FN inline std::uint32_t bytes_before_records(std::uint32_t form) {
  return stored_words_bytes(form) + ((form & board_limited) != 0 ? board_mask_bytes : 0U);
}

/// All views are writable, even for kernels that only read: pack_whole_events reads columns that
/// the same kernel wrote, and read-only views forbid that.
struct frame_columns {
  record_columns::view records;
  board_columns::view boards;
  fragment_columns::view fragments;
  event_columns::view events;
  column<found_packet> packets; ///< by board; written by find_boards on CUDA devices
  selected_columns selected;
  codec_id codec = codec_id::koto;
  /// board_slot_bytes for each board: packed boards, before deliver_events copies them to their
  /// places. Empty if boards are packed in place: KOTO records on a CPU.
  column<std::byte> slots;

  [[nodiscard]] L3_FN std::byte* slot(std::uint32_t board) const {
    return slots.data() + std::size_t{board} * board_slot_bytes;
  }
  /// Where the packed data of a board with KOTO records begin in its slot.
  [[nodiscard]] L3_FN std::byte* packed(std::uint32_t board, std::uint32_t form) const {
    return slot(board) + (records_in_slot - bytes_before_records(form));
  }
  [[nodiscard]] L3_FN bool has_slots() const { return slots.size() != 0; }

  /// Takes all columns from the region except `results`, with a row per event; the caller places it
  /// with the output, because the host reads it. Slots are taken for a device and for the strong
  /// codec.
  [[nodiscard]] static frame_columns take(region& from, const batch_capacity& capacity,
                                          column<event_result> results, codec_id codec,
                                          bool has_device) {
    frame_columns c;
    c.records = record_columns::take(from, capacity.boards * l2::waveforms_per_board);
    c.boards = board_columns::take(from, capacity.boards);
    c.fragments = fragment_columns::take(from, capacity.fragments);
    c.events = event_columns::view(event_columns::columns{
        .accepted = from.take<std::uint8_t>(capacity.events), .results = results});
    c.packets = from.take<found_packet>(capacity.boards);
    c.codec = codec;
    if (has_device || codec == codec_id::strong)
      c.slots = from.take<std::byte>(capacity.boards * board_slot_bytes);
    return c;
  }
};

/// The memory for packed events. Before the kernels run, the host gives each event an extent that
/// is large enough for any result (frame_parts.hpp). So no kernel waits for the lengths of other
/// events.
struct output_view {
  std::byte* bytes = nullptr;         ///< address is a multiple of extent_alignment
  column<const std::uint64_t> starts; ///< by event: offset of its extent
  // deliver_events also copies the head of frame_parts; addresses and length are multiples of 16.
  const std::byte* head = nullptr;
  std::byte* head_there = nullptr;
  std::uint64_t head_bytes = 0; ///< 0 on a CPU
};

} // namespace l3
