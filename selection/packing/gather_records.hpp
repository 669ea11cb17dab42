// SPDX-License-Identifier: Apache-2.0
// gather_records: the strong codec codes groups of 16 records (gpu/codec/strong.hpp), and a board
// that lacks some has no group of its own. The records that such boards of an event have are
// gathered: numbered through the event, and each 16 of them are a group, whose bytes stand in the
// data of the board that has the first of them. One CUDA block for each suppressed event numbers
// them, before encode_boards. It also shortens the boards by their records. Rounded samples are not
// gathered: most of them are shorter as KOTO records.
#pragma once

#include <cstdint>

#include "gpu/codec/koto.hpp"
#include "gpu/codec/strong.hpp"
#include "gpu/executors/bits.hpp"
#include "selection/packing/frame_columns.hpp"
#include "selection/packing/measure.hpp"

namespace l3 {

struct gather_records {
  static constexpr std::uint32_t width = 64;
  static constexpr std::uint32_t parts = 64; // of an event's boards, counted side by side

  struct shared {
    std::uint32_t before[parts]; // records of the event before the part
  };

  template <block B>
  L3_FN void operator()(const B& b, shared& s, const batch_view& in,
                        const frame_columns& columns) const {
    const std::uint32_t e = b.index();
    if (columns.events.accepted[e] == 0) return;
    if (columns.selected.summaries[e].payload != event_payload::suppressed) return;
    const event_entry event = in.events[e];
    const std::uint32_t share = (event.boards + parts - 1) / parts;
    const auto first = [&](std::uint32_t part) {
      return event.first_board + (part * share < event.boards ? part * share : event.boards);
    };
    for_each(b, parts, [&](std::uint32_t part) {
      std::uint32_t records = 0;
      for (std::uint32_t i = first(part); i < first(part + 1); ++i) records += mark(columns, i);
      s.before[part] = records;
    });
    b.sync();
    for_each(b, 1, [&](std::uint32_t) {
      std::uint32_t records = 0;
      for (std::uint32_t& before : s.before) {
        const std::uint32_t of_part = before;
        before = records;
        records += of_part;
      }
    });
    b.sync();
    for_each(b, parts, [&](std::uint32_t part) {
      std::uint32_t records = s.before[part];
      for (std::uint32_t i = first(part); i < first(part + 1); ++i) {
        columns.boards.gathered_before[i] = static_cast<std::uint16_t>(records);
        records += ones(columns.boards.gathered[i]);
      }
    });
  }

  /// How many of a board's gathered records are of a group that an earlier board begins; all of
  /// them, if the board begins none.
  [[nodiscard]] L3_FN static std::uint32_t records_before_group(const board_columns::view& boards,
                                                                std::uint32_t i) {
    const std::uint32_t records = ones(boards.gathered[i]);
    const std::uint32_t before = (0U - boards.gathered_before[i]) % strong::group_records;
    return before < records ? before : records;
  }
  /// Whether a group stands in the data of a board whose records were gathered.
  [[nodiscard]] L3_FN static bool begins_group(const board_columns::view& boards, std::uint32_t i) {
    return records_before_group(boards, i) < ones(boards.gathered[i]);
  }

private:
  /// Notes which records of the board are gathered, and returns how many.
  L3_FN static std::uint32_t mark(const frame_columns& columns, std::uint32_t i) {
    const std::uint32_t form = columns.boards.form[i];
    const bool is_gathered = (form & (board_raw | board_limited | board_rounded)) == board_limited;
    const std::uint32_t records = is_gathered ? std::uint32_t{columns.boards.records[i]} : 0;
    columns.boards.gathered[i] = static_cast<std::uint16_t>(records);
    if (records == 0) return 0;
    board_shape shape{form | board_strong, columns.boards.bytes[i]};
    for (std::uint32_t r = 0; r < packet_lanes; ++r)
      if ((records >> r & 1) != 0)
        shape.bytes -= koto::record_bytes(columns.records.bits[packet_lanes * i + r]);
    measure_boards::write_shape(i, shape, columns);
    return ones(records);
  }
};

} // namespace l3
