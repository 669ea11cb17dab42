// SPDX-License-Identifier: Apache-2.0
// pack_events: one block an event writes everything of a packed event (docs/formats.md, section 7)
// that is not the data of a board: its header, its tables, the fragments that are stored raw, and
// the zeros at its end. It goes where place has found room, if the event is kept.
#pragma once

#include <cstdint>

#include "gpu/packet.hpp"
#include "selection/columns.hpp"
#include "selection/layout.hpp"

namespace l3 {

struct pack_events {
  static constexpr std::uint32_t width = 128;

  struct shared {};

  template <block B>
  L3_FN void operator()(const B& b, shared&, const batch_view& in, const frame_columns& columns,
                        output_view out) const {
    const event_entry event = in.events[b.index()];
    const event_result result = columns.events.results[b.index()];
    if (!result.kept) return;
    std::byte* const to = out.bytes + result.offset;
    std::byte* const fragment_table = to + sizeof(packed_event);
    std::byte* const board_table = fragment_table + event.fragments * sizeof(packed_fragment);

    for_each(b, 1, [&](std::uint32_t) {
      store(aligned<packed_alignment>(to), header_of(event, result));
      if (event.boards % 2 != 0) { // the board table ends 4 bytes before a multiple of 8
        store(aligned<4>(board_table + event.boards * sizeof(packed_board)), std::uint32_t{0});
      }
    });
    for_each(b, event.fragments, [&](std::uint32_t k) {
      const fragment_entry f = in.fragments[event.first_fragment + k];
      packed_fragment p;
      p.crate = f.crate;
      p.form = f.raw != 0 ? fragment_form::raw : fragment_form::boards;
      p.boards = f.boards;
      p.bytes = f.bytes;
      store(aligned<packed_alignment>(fragment_table + k * sizeof p), p);
    });
    for_each(b, event.boards, [&](std::uint32_t k) {
      const std::uint32_t board = event.first_board + k;
      packed_board p;
      p.slot = in.boards[board].slot;
      p.form = columns.boards.form[board];
      p.bytes = columns.boards.bytes[board];
      store(aligned<sizeof p>(board_table + k * sizeof p), p);
    });
    std::uint64_t end = data_offset(event.fragments, event.boards);
    for (std::uint32_t k = 0; k < event.fragments; ++k) {
      const std::uint32_t f = event.first_fragment + k;
      end = columns.fragments.at[f] + columns.fragments.bytes[f];
      if (in.fragments[f].raw != 0) {
        copy_range(b, in, in.fragments[f], 0, in.fragments[f].bytes, to + columns.fragments.at[f]);
      }
    }
    for_each(b, static_cast<std::uint32_t>(result.bytes - end),
             [&](std::uint32_t k) { to[end + k] = std::byte{0}; });
  }

private:
  L3_FN static packed_event header_of(const event_entry& event, const event_result& result) {
    packed_event h;
    h.bytes = result.bytes;
    h.spill = event.spill;
    h.number = event.number;
    h.flags = static_cast<std::uint16_t>(result.flags);
    h.fragments = static_cast<std::uint16_t>(event.fragments);
    h.boards = event.boards;
    h.reference_time = event.reference_time & reference_mask;
    return h;
  }

  static constexpr std::uint32_t reference_mask = (1U << 28) - 1;
};

} // namespace l3
