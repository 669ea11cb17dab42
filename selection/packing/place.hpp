// SPDX-License-Identifier: Apache-2.0
// place_boards turns the lengths of boards into their places within each event. It uses no atomics,
// so a place does not depend on the order of lanes and CUDA blocks.
#pragma once

#include <cstdint>

#include "gpu/decode/packet.hpp"
#include "selection/packing/frame_columns.hpp"
#include "selection/packing/layout.hpp"

namespace l3 {

/// One CUDA block per event finds the place of each board's data within the event, and writes the
/// event's result.
struct place_boards {
  static constexpr std::uint32_t width = 32;

  struct shared {};

  template <block B>
  L3_FN void operator()(const B& b, shared&, const batch_view& in, const frame_columns& out,
                        const output_view& output) const {
    const event_entry event = in.events[b.index()];
    const fragment_columns::view& fragments = out.fragments;
    for_each(b, event.fragments,
             [&](std::uint32_t k) { sum_boards(event.first_fragment + k, in, out); });
    b.sync();
    for_each(b, 1, [&](std::uint32_t) {
      std::uint64_t at =
          data_offset(event.fragments, event.boards,
                      out.selected.summary_bytes(b.index()) + out.selected.payload_bytes());
      std::uint64_t original = 0;
      event_result result;
      result.offset = output.starts[b.index()];
      result.flags = event.flags;
      for (std::uint32_t k = 0; k < event.fragments; ++k) {
        const std::uint32_t f = event.first_fragment + k;
        fragments.at[f] = static_cast<std::uint32_t>(at);
        at += fragments.bytes[f];
        original += in.fragments[f].bytes;
        result.boards_damaged =
            static_cast<std::uint16_t>(result.boards_damaged + fragments.damaged[f]);
        result.boards_opaque =
            static_cast<std::uint16_t>(result.boards_opaque + fragments.opaque[f]);
        if (in.fragments[f].raw != 0 || fragments.damaged[f] != 0) result.flags |= event_damaged;
        if (fragments.opaque[f] != 0) result.flags |= event_opaque;
      }
      result.kept = out.events.accepted[b.index()];
      result.bytes =
          result.kept != 0 ? static_cast<std::uint32_t>(round_up(at, packed_alignment)) : 0;
      result.original_bytes = static_cast<std::uint32_t>(original);
      out.events.results[b.index()] = result;
    });
    b.sync();
    for_each(b, event.fragments, [&](std::uint32_t k) {
      const std::uint32_t f = event.first_fragment + k;
      const bool kept = out.events.results[b.index()].kept != 0;
      std::uint32_t at = fragments.at[f];
      for (std::uint32_t j = 0; j < in.fragments[f].boards; ++j) {
        const std::uint32_t board = in.fragments[f].first_board + j;
        out.boards.at[board] = kept ? at : not_packed;
        at += out.boards.bytes[board];
      }
    });
  }

private:
  L3_FN static void sum_boards(std::uint32_t f, const batch_view& in, const frame_columns& out) {
    const fragment_entry fragment = in.fragments[f];
    std::uint64_t bytes = fragment.raw != 0 ? fragment.bytes : 0;
    std::uint32_t damaged = 0;
    std::uint32_t opaque = 0;
    for (std::uint32_t j = 0; j < fragment.boards; ++j) {
      const std::uint32_t board = fragment.first_board + j;
      const bool is_opaque = in.boards[board].opaque != 0;
      bytes += out.boards.bytes[board];
      opaque += is_opaque ? 1 : 0;
      damaged += !is_opaque && (out.boards.form[board] & board_raw) != 0 ? 1 : 0;
    }
    out.fragments.bytes[f] = bytes;
    out.fragments.damaged[f] = static_cast<std::uint16_t>(damaged);
    out.fragments.opaque[f] = static_cast<std::uint16_t>(opaque);
  }
};

} // namespace l3
