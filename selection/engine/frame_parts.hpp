// SPDX-License-Identifier: Apache-2.0
// The layout of a frame's memory: the input and its tables, then the histograms' areas, the
// summary, the results and the output. The device has a copy with the same layout, and parts that
// are copied together are adjacent.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/memory/buffer.hpp"
#include "gpu/memory/frame.hpp"
#include "selection/packing/deliver.hpp"
#include "selection/packing/frame_columns.hpp"
#include "selection/packing/layout.hpp"
#include "transport/format/batch_capacity.hpp"
#include "transport/format/histograms.hpp"
#include "transport/format/summary.hpp"

namespace l3 {

/// Upper limit in bytes of the packed events of a batch: the data of a board exceed its packet by
/// at most the length of a group, and a raw fragment keeps its length; tables, headers, summaries
/// and padding come on top.
[[nodiscard]] inline std::size_t largest_output(const batch_capacity& c,
                                                std::uint32_t summary_bytes = 0) {
  return round_up(c.bytes +
                      std::size_t{c.events} *
                          (sizeof(packed_event) + 2 * packed_alignment + summary_bytes) +
                      std::size_t{c.fragments} * sizeof(packed_fragment) +
                      std::size_t{c.boards} * (sizeof(packed_board) + encoded_excess_bytes),
                  4096);
}

/// The smallest capacity for this batch.
[[nodiscard]] inline batch_capacity used_part(const input_batch& b) {
  return {b.used_events, b.used_fragments, b.used_pieces, b.used_boards, b.used_bytes};
}

/// Whether each fragment belongs to one event, and fragments are in the order of their events.
[[nodiscard]] inline bool fragments_follow_events(const input_batch& b) {
  std::uint32_t fragments = 0;
  for (const event_entry& e : b.events.first(b.used_events)) {
    if (e.fragments != 0 && e.first_fragment != fragments) return false;
    fragments += e.fragments;
  }
  return fragments == b.used_fragments;
}

struct frame_parts {
  std::byte* input = nullptr;
  column<event_entry> events;
  column<fragment_entry> fragments;
  column<piece_offset> pieces;
  column<board_entry> boards;
  std::size_t area_bytes = 0; ///< of a spill's histograms, directly before the summary
  frame_summary* summary = nullptr;
  column<event_result> results;
  column<event_summary> summaries; ///< empty without a selection
  std::byte* output = nullptr;

  /// `area`: length of a spill's histograms, a multiple of the region's alignment.
  [[nodiscard]] static frame_parts take(region& from, const batch_capacity& c, std::size_t output,
                                        std::uint32_t summaries = 0, std::size_t area = 0) {
    constexpr std::size_t page = 4096;
    frame_parts p;
    p.input = static_cast<std::byte*>(from.take_bytes(c.bytes, page));
    p.events = from.take<event_entry>(c.events);
    p.fragments = from.take<fragment_entry>(c.fragments);
    p.pieces = from.take<piece_offset>(c.pieces);
    p.boards = from.take<board_entry>(c.boards);
    p.area_bytes = area;
    from.take_bytes(max_frame_spills * area);
    p.summary = from.take<frame_summary>(1).data();
    p.results = from.take<event_result>(c.events);
    p.summaries = from.take<event_summary>(summaries);
    p.output = static_cast<std::byte*>(from.take_bytes(output, page));
    return p;
  }

  /// All tables as one range of bytes, which ends with the used part of the longest table, the
  /// boards. The range includes the unused parts of the other three tables, at most 50 kB with the
  /// default limits. Copying them takes a few microseconds, as long as starting three more copies
  /// would.
  [[nodiscard]] std::byte* tables() const { return reinterpret_cast<std::byte*>(events.data()); }
  [[nodiscard]] std::size_t table_bytes(std::uint32_t used_boards) const {
    return distance(tables(), boards.data() + used_boards);
  }

  /// The end of the histograms' areas.
  [[nodiscard]] std::byte* areas_end() const { return reinterpret_cast<std::byte*>(summary); }
  /// One range of bytes: the histograms of this many spills, the frame's summary, then the results
  /// and the summaries of its events. The output follows.
  [[nodiscard]] std::byte* head(std::uint32_t spills) const {
    return areas_end() - spills * area_bytes;
  }
  [[nodiscard]] std::size_t head_bytes(std::uint32_t spills, std::uint32_t used_events) const {
    return summaries.size() == 0 ? distance(head(spills), results.data() + used_events)
                                 : distance(head(spills), summaries.data() + used_events);
  }

private:
  [[nodiscard]] static std::size_t distance(const std::byte* from, const void* to) {
    return static_cast<std::size_t>(static_cast<const std::byte*>(to) - from);
  }
};

} // namespace l3
