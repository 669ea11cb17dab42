// SPDX-License-Identifier: Apache-2.0
// What the kernels of the sequence leave for one another: columns by record, by board, by fragment
// and by event of a frame. Together they are the frame's device arena, a few per cent of the size
// of its input.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/column.hpp"
#include "gpu/frame.hpp"
#include "gpu/memory.hpp"

namespace l3 {

/// Written by measure. Records are numbered 16 × board + record, as docs/formats.md orders them.
struct record_columns {
  column<std::uint16_t> minimum;
  column<std::uint8_t> bits; ///< N
};

struct board_columns {
  column<std::uint8_t> form;   ///< board_form; by measure
  column<std::uint16_t> bytes; ///< of its data; by measure
  column<std::uint32_t> at;    ///< of its data, from the start of the packed event; by place
};

/// Written by place.
struct fragment_columns {
  column<std::uint64_t> bytes; ///< of its data
  column<std::uint32_t> at;    ///< of its data, from the start of the packed event
  column<std::uint16_t> damaged;
  column<std::uint16_t> opaque;
};

struct event_columns {
  column<std::uint8_t> accepted; ///< by select
  column<event_result> results;  ///< by place
};

struct frame_columns {
  record_columns records;
  board_columns boards;
  fragment_columns fragments;
  event_columns events;
};

struct output_view {
  std::byte* bytes = nullptr; ///< a multiple of 8 as an address
  std::uint64_t capacity = 0;
};

/// Everything but the results, which are handed to the host and lie with the output.
[[nodiscard]] inline frame_columns take_columns(region& from, const batch_capacity& capacity,
                                                column<event_result> results) {
  frame_columns c;
  c.records.minimum = from.take<std::uint16_t>(capacity.boards * l2::waveforms_per_board);
  c.records.bits = from.take<std::uint8_t>(capacity.boards * l2::waveforms_per_board);
  c.boards.form = from.take<std::uint8_t>(capacity.boards);
  c.boards.bytes = from.take<std::uint16_t>(capacity.boards);
  c.boards.at = from.take<std::uint32_t>(capacity.boards);
  c.fragments.bytes = from.take<std::uint64_t>(capacity.fragments);
  c.fragments.at = from.take<std::uint32_t>(capacity.fragments);
  c.fragments.damaged = from.take<std::uint16_t>(capacity.fragments);
  c.fragments.opaque = from.take<std::uint16_t>(capacity.fragments);
  c.events.accepted = from.take<std::uint8_t>(capacity.events);
  c.events.results = results;
  return c;
}

} // namespace l3
