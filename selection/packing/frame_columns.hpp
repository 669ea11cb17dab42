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

/// In board_fields::at of all boards of rejected events. Kept events without room have
/// places.
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
  column<std::uint8_t> accepted; ///< written by the kernel that decides
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

/// Room for a board's data in the strong codec: header and footer words, and a group.
inline constexpr std::uint32_t encoded_slot_bytes = 2080;
/// The largest excess of that data over the board's packet: the length of the group, or the mask of
/// a limited board.
inline constexpr std::uint32_t encoded_excess_bytes = 2;

/// All views are writable, even for kernels that only read: pack may read columns that the same
/// kernel wrote (selection/packing/one_pass_plan.hpp), and read-only views forbid that.
struct frame_columns {
  record_columns::view records;
  board_columns::view boards;
  fragment_columns::view fragments;
  event_columns::view events;
  column<found_packet> packets; ///< by board; written by find_packets on CUDA devices
  selected_columns selected;
  /// Slots of encoded_slot_bytes, one per board, for the output of encode_boards; empty if the
  /// codec is koto.
  column<std::byte> encoded;

  /// Takes all columns from the region except `results`, with a row per event; the caller places it
  /// with the output, because the host reads it.
  [[nodiscard]] static frame_columns take(region& from, const batch_capacity& capacity,
                                          column<event_result> results,
                                          codec_id codec = codec_id::koto) {
    frame_columns c;
    c.records = record_columns::take(from, capacity.boards * l2::waveforms_per_board);
    c.boards = board_columns::take(from, capacity.boards);
    c.fragments = fragment_columns::take(from, capacity.fragments);
    c.events = event_columns::view(event_columns::columns{
        .accepted = from.take<std::uint8_t>(capacity.events), .results = results});
    c.packets = from.take<found_packet>(capacity.boards);
    if (codec == codec_id::strong)
      c.encoded = from.take<std::byte>(capacity.boards * encoded_slot_bytes);
    return c;
  }
};

struct output_view {
  std::byte* bytes = nullptr; ///< address is a multiple of 8
  std::uint64_t capacity = 0;
};

} // namespace l3
