// SPDX-License-Identifier: Apache-2.0
// gather_records: the strong codec codes groups of 16 records (gpu/codec/strong.hpp), and a board
// that lacks some has no group of its own. The records that such boards of an event have are
// gathered: numbered through the event, and each 16 of them are a group, whose bytes stand in the
// data of the board that has the first of them. Rounded samples are not gathered: most of them are
// shorter as KOTO records.
//
// One CUDA block for each suppressed event numbers its records, before encode_boards. It shortens
// the boards by them, and gives the boards that have a group the first turns of the event:
// encode_boards takes several boards side by side, and few have one.
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
    std::uint32_t records[parts]; // of the part; then of the parts before it
    std::uint32_t groups[parts];  // boards with a group, the same
    std::uint32_t all_groups;
  };

  static constexpr std::uint32_t no_board = ~std::uint32_t{0};

  /// Whether the records of the event are gathered, and its boards have turns.
  [[nodiscard]] L3_FN static bool takes(const frame_columns& columns, std::uint32_t event) {
    return columns.selected.payloads.size() != 0 && columns.events.accepted[event] != 0 &&
           columns.selected.summaries[event].payload == event_payload::suppressed;
  }

  template <block B>
  L3_FN void operator()(const B& b, shared& s, const batch_view& in,
                        const frame_columns& columns) const {
    if (!takes(columns, b.index())) return;
    const event_entry event = in.events[b.index()];
    const board_columns::view& boards = columns.boards;
    const std::uint32_t share = (event.boards + parts - 1) / parts;
    const auto first = [&](std::uint32_t part) {
      return event.first_board + (part * share < event.boards ? part * share : event.boards);
    };
    for_each(b, parts, [&](std::uint32_t part) {
      s.records[part] = 0;
      for (std::uint32_t i = first(part); i < first(part + 1); ++i)
        s.records[part] += mark(columns, i);
    });
    b.sync();
    for_each(b, 1, [&](std::uint32_t) { add_up(s.records); });
    b.sync();
    for_each(b, parts, [&](std::uint32_t part) {
      std::uint32_t before = s.records[part];
      s.groups[part] = 0;
      for (std::uint32_t i = first(part); i < first(part + 1); ++i) {
        boards.gathered_before[i] = static_cast<std::uint16_t>(before);
        before += ones(boards.gathered[i]);
        s.groups[part] += has_group(boards, i) ? 1 : 0;
      }
    });
    b.sync();
    for_each(b, 1, [&](std::uint32_t) { s.all_groups = add_up(s.groups); });
    b.sync();
    for_each(b, parts, [&](std::uint32_t part) {
      std::uint32_t turn = event.first_board + s.groups[part];
      for (std::uint32_t i = first(part); i < first(part + 1); ++i)
        if (has_group(boards, i)) boards.turn[turn++] = i;
    });
    for_each(b, event.boards - s.all_groups, [&](std::uint32_t n) {
      boards.turn[event.first_board + s.all_groups + n] = no_board;
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

  /// A group of the board's own, or one of gathered records.
  [[nodiscard]] L3_FN static bool has_group(const board_columns::view& boards, std::uint32_t i) {
    return (boards.form[i] & (board_raw | board_limited)) == 0 || begins_group(boards, i);
  }

  /// Each number becomes the sum of those before it. Returns the sum of all.
  L3_FN static std::uint32_t add_up(std::uint32_t (&numbers)[parts]) {
    std::uint32_t sum = 0;
    for (std::uint32_t& n : numbers) {
      const std::uint32_t own = n;
      n = sum;
      sum += own;
    }
    return sum;
  }
};

} // namespace l3
