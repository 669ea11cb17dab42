// SPDX-License-Identifier: Apache-2.0
// What the kernels of the sequence leave for one another: columns by record, by board, by fragment
// and by event of a frame. Together they are the frame's device arena, a few per cent of the size
// of its input.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/columns/soa.hpp"
#include "gpu/memory/buffer.hpp"
#include "gpu/memory/frame.hpp"
#include "transport/format/batch_capacity.hpp"
#include "transport/format/summary.hpp"

namespace l3 {

/// Written by measure. Records are numbered 16 × board + record, as docs/formats.md orders them.
template <template <class> class column>
struct record_fields {
  column<std::uint16_t> minimum;
  column<std::uint8_t> bits; ///< N
};
using record_columns = soa<record_fields>;

template <template <class> class column>
struct board_fields {
  column<std::uint8_t> form;   ///< board_form; by measure
  column<std::uint16_t> bytes; ///< of its data; by measure
  column<std::uint32_t> at;    ///< of its data, from the start of the packed event; by place
};
using board_columns = soa<board_fields>;

/// Written by place.
template <template <class> class column>
struct fragment_fields {
  column<std::uint64_t> bytes; ///< of its data
  column<std::uint32_t> at;    ///< of its data, from the start of the packed event
  column<std::uint16_t> damaged;
  column<std::uint16_t> opaque;
};
using fragment_columns = soa<fragment_fields>;

template <template <class> class column>
struct event_fields {
  column<std::uint8_t> accepted; ///< by select
  column<event_result> results;  ///< by place
};
using event_columns = soa<event_fields>;

/// What a selection leaves for packing; empty where none runs.
struct selected_columns {
  column<const event_summary> summaries;
  column<const packed_line> lines;
  std::uint32_t settings = 0; ///< a hash of what was in force

  /// Of the event's summary as it is packed.
  [[nodiscard]] L3_FN std::uint32_t summary_bytes(std::uint32_t event) const {
    return summaries.size() == 0
               ? 0
               : packed_summary_bytes(summaries[event].lines, summaries[event].photons);
  }
};

/// Views that may be written, also for kernels that only read: what pack reads, the same kernel may
/// have written (selection/packing/one_pass_plan.hpp).
struct frame_columns {
  record_columns::view records;
  board_columns::view boards;
  fragment_columns::view fragments;
  event_columns::view events;
  selected_columns selected;

  /// All but the results, of as many events, which are handed to the host and lie with the output.
  [[nodiscard]] static frame_columns take(region& from, const batch_capacity& capacity,
                                          column<event_result> results) {
    frame_columns c;
    c.records = record_columns::take(from, capacity.boards * l2::waveforms_per_board);
    c.boards = board_columns::take(from, capacity.boards);
    c.fragments = fragment_columns::take(from, capacity.fragments);
    c.events = event_columns::view(event_columns::columns{
        .accepted = from.take<std::uint8_t>(capacity.events), .results = results});
    return c;
  }
};

struct output_view {
  std::byte* bytes = nullptr; ///< a multiple of 8 as an address
  std::uint64_t capacity = 0;
};

} // namespace l3
