// SPDX-License-Identifier: Apache-2.0
// The layout of a frame's memory: the input and its tables, then the histograms' areas, the results
// and the output. A device has its own input, which ends with the tables, and its own areas and
// results; its kernels write the output to the host's memory. Parts that are copied together are
// adjacent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "gpu/memory/buffer.hpp"
#include "gpu/memory/frame.hpp"
#include "selection/packing/frame_columns.hpp"
#include "selection/packing/layout.hpp"
#include "transport/format/batch_capacity.hpp"
#include "transport/format/histograms.hpp"
#include "transport/format/summary.hpp"

namespace l3 {

/// Upper limit in bytes of the extents of a batch's events (extent_bytes): a raw fragment keeps its
/// length; tables, headers, summaries and padding come on top.
[[nodiscard]] inline std::size_t largest_output(const batch_capacity& c,
                                                std::uint32_t summary_bytes = 0) {
  return round_up(c.bytes +
                      std::size_t{c.events} * (sizeof(packed_event) + packed_alignment +
                                               extent_alignment + summary_bytes) +
                      std::size_t{c.fragments} * sizeof(packed_fragment) +
                      std::size_t{c.boards} * (sizeof(packed_board) + encoded_excess_bytes),
                  4096);
}

/// Gives every event its extent in the output, by offsets from its start, and returns the end of
/// the last extent. Returns nothing if a fragment belongs to no event or to two, or if fragments
/// are not in the order of their events.
[[nodiscard]] inline std::optional<std::uint64_t>
give_extents(column<const event_entry> events, column<const fragment_entry> fragments,
             std::uint32_t summary_bytes, std::uint64_t* starts) {
  std::uint64_t end = 0;
  std::uint32_t used = 0;
  for (std::uint32_t k = 0; k < events.size(); ++k) {
    const event_entry& e = events[k];
    const bool follows = e.fragments == 0 || e.first_fragment == used;
    if (!follows || e.fragments > fragments.size() - used) return std::nullopt;
    std::uint64_t bytes = 0;
    for (const std::uint32_t last = used + e.fragments; used < last; ++used)
      bytes += fragments[used].bytes;
    starts[k] = end;
    end += extent_bytes(e.fragments, e.boards, bytes, summary_bytes);
  }
  return used == fragments.size() ? std::optional(end) : std::nullopt;
}

struct frame_parts {
  std::byte* input = nullptr;
  column<event_entry> events;
  column<std::uint64_t> starts; ///< of the events' extents in the output
  column<fragment_entry> fragments;
  column<piece_offset> pieces;
  column<board_entry> boards;
  column<board_home> homes;   ///< where the kernels run
  std::size_t area_bytes = 0; ///< of a spill's histograms, directly before the results
  column<event_result> results;
  column<event_summary> summaries; ///< empty without a selection
  std::byte* output = nullptr;

  /// The parts on the host. `area`: length of a spill's histograms, a multiple of the region's
  /// alignment. `for_device`: the input has room for the tables behind it.
  [[nodiscard]] static frame_parts take(region& from, const batch_capacity& c, std::size_t output,
                                        std::uint32_t summaries = 0, std::size_t area = 0,
                                        bool for_device = false) {
    frame_parts p;
    p.take_input(from, c, for_device);
    p.take_tables(from, c);
    if (!for_device) p.homes = from.take<board_home>(c.boards);
    p.take_results(from, c.events, summaries, area);
    p.output = static_cast<std::byte*>(from.take_bytes(output, page));
    return p;
  }
  /// The parts on the device, whose tables are in its input.
  [[nodiscard]] static frame_parts take_on_device(region& from, const batch_capacity& c,
                                                  std::uint32_t summaries, std::size_t area) {
    frame_parts p;
    p.take_input(from, c, true);
    p.homes = from.take<board_home>(c.boards);
    p.take_results(from, c.events, summaries, area);
    return p;
  }

  /// The end of the histograms' areas.
  [[nodiscard]] std::byte* areas_end() const {
    return reinterpret_cast<std::byte*>(results.data());
  }
  /// One range of bytes: the histograms of this many spills, then the results and the summaries of
  /// the frame's events. The output follows.
  [[nodiscard]] std::byte* head(std::uint32_t spills) const {
    return areas_end() - spills * area_bytes;
  }
  [[nodiscard]] std::size_t head_bytes(std::uint32_t spills, std::uint32_t used_events) const {
    static_assert(sizeof(event_result) % 16 == 0 &&
                  sizeof(event_summary) % 16 == 0); // deliver_events
    return summaries.size() == 0 ? distance(head(spills), results.data() + used_events)
                                 : distance(head(spills), summaries.data() + used_events);
  }

private:
  static constexpr std::size_t page = 4096;

  void take_input(region& from, const batch_capacity& c, bool with_tables) {
    region tables;
    if (with_tables) {
      tables.take_bytes(region::alignment); // the input ends anywhere
      frame_parts().take_tables(tables, c);
    }
    input = static_cast<std::byte*>(from.take_bytes(c.bytes + tables.used(), page));
  }
  void take_tables(region& from, const batch_capacity& c) {
    events = from.take<event_entry>(c.events);
    starts = from.take<std::uint64_t>(c.events);
    fragments = from.take<fragment_entry>(c.fragments);
    pieces = from.take<piece_offset>(c.pieces);
    boards = from.take<board_entry>(c.boards);
  }
  void take_results(region& from, std::uint32_t of_events, std::uint32_t of_summaries,
                    std::size_t area) {
    area_bytes = area;
    from.take_bytes(max_frame_spills * area);
    results = from.take<event_result>(of_events);
    summaries = from.take<event_summary>(of_summaries);
  }
  [[nodiscard]] static std::size_t distance(const std::byte* from, const void* to) {
    return static_cast<std::size_t>(static_cast<const std::byte*>(to) - from);
  }
};

} // namespace l3
