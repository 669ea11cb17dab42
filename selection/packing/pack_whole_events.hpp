// SPDX-License-Identifier: Apache-2.0
// pack_whole_events: on a CPU that keeps everything, one block per event measures and packs the
// boards one after the other, and reads each packet once. Data go straight to their place, because
// the extent of the event is known and its boards follow one another. A packed board may overwrite
// copy_slack bytes after its data: they belong to the next board, or to the end of the extent,
// which is larger than a packed board needs. The bytes are those of measure_boards, place_boards,
// pack_boards and pack_events.
#pragma once

#include <cstdint>

#include "selection/packing/measure.hpp"
#include "selection/packing/pack.hpp"
#include "selection/packing/pack_events.hpp"
#include "selection/packing/place.hpp"

namespace l3 {

struct pack_whole_events {
  static constexpr std::uint32_t width = 128;

  struct shared {
    pack_boards::shared_of_fused boards;
    place_boards::shared places;
    pack_events::shared tables;
  };

  template <block B>
  L3_FN void operator()(const B& b, shared& s, const batch_view& in, const frame_columns& columns,
                        const output_view& out) const {
    const event_entry event = in.events[b.index()];
    std::byte* to = out.bytes + out.starts[b.index()] + data_offset(event.fragments, event.boards);
    for (std::uint32_t k = 0; k < event.fragments; ++k) {
      const fragment_entry fragment = in.fragments[event.first_fragment + k];
      if (fragment.raw != 0) to += fragment.bytes; // pack_events copies it
      for (std::uint32_t j = 0; j < fragment.boards; ++j) {
        const std::uint32_t i = fragment.first_board + j;
        const board_shape shape = pack_boards::measure_and_pack(
            b, s.boards, in, event, fragment, i, columns, [&](const board_shape&) { return to; });
        if ((shape.form & board_raw) != 0)
          copy_range(b, in, fragment, in.boards[i].offset, shape.bytes, to);
        to += shape.bytes;
      }
    }
    for_each(b, 1, [&](std::uint32_t) { columns.events.accepted[b.index()] = 1; });
    b.sync();
    place_boards()(b, s.places, in, columns, out);
    b.sync();
    pack_events()(b, s.tables, in, columns, out);
  }
};

} // namespace l3
