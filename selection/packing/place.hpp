// SPDX-License-Identifier: Apache-2.0
// The place kernels turn sizes into offsets: place_boards within each event, place_events over the
// events of the frame, in order. They use no atomics, so the place of an event does not depend on
// the order of lanes and CUDA blocks.
#pragma once

#include <cstdint>

#include "gpu/decode/packet.hpp"
#include "selection/packing/deliver.hpp"
#include "selection/packing/frame_columns.hpp"
#include "selection/packing/layout.hpp"

namespace l3 {

/// One CUDA block per event finds the place of each board's data within the event, and writes the
/// event's result, except the offset.
struct place_boards {
  static constexpr std::uint32_t width = 32;

  struct shared {};

  template <block B>
  L3_FN void operator()(const B& b, shared&, const batch_view& in, const frame_columns& out) const {
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
      at = round_up(at, packed_alignment);
      const bool accepted = out.events.accepted[b.index()] != 0;
      result.kept = accepted && at <= largest;
      result.no_room = accepted && at > largest;
      result.bytes = result.kept ? static_cast<std::uint32_t>(at) : 0;
      result.original_bytes = static_cast<std::uint32_t>(original);
      out.events.results[b.index()] = result;
    });
    b.sync();
    for_each(b, event.fragments, [&](std::uint32_t k) {
      const std::uint32_t f = event.first_fragment + k;
      const bool kept = out.events.results[b.index()].kept;
      std::uint32_t at = fragments.at[f];
      for (std::uint32_t j = 0; j < in.fragments[f].boards; ++j) {
        const std::uint32_t board = in.fragments[f].first_board + j;
        out.boards.at[board] = kept ? at : not_packed;
        at += out.boards.bytes[board];
      }
    });
  }

private:
  static constexpr std::uint64_t largest = 0xffffffffU / packed_alignment * packed_alignment;

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

/// One CUDA block for the frame finds the place of each event and the end of the last one. Rejected
/// events take no room. From the first event that does not fit on, kept events get no_room instead
/// and are not packed.
struct place_events {
  static constexpr std::uint32_t width = 256;
  static constexpr std::uint32_t parts = 256;

  struct shared {
    std::uint64_t start[parts];
    std::uint64_t end[parts]; // end of the last kept event; 0: the part has none
  };

  template <block B>
  L3_FN void operator()(const B& b, shared& s, const frame_columns& out, std::uint32_t events,
                        std::uint64_t capacity, frame_summary* summary) const {
    const std::uint32_t share = (events + parts - 1) / parts;
    const auto first = [=](std::uint32_t part) {
      return part * share < events ? part * share : events;
    };
    for_each(b, parts, [&](std::uint32_t part) {
      std::uint64_t bytes = 0;
      for (std::uint32_t e = first(part); e < first(part + 1); ++e)
        bytes += out.events.results[e].bytes;
      s.start[part] = bytes;
    });
    b.sync();
    for_each(b, 1, [&](std::uint32_t) {
      std::uint64_t at = 0;
      for (std::uint32_t part = 0; part < parts; ++part) {
        const std::uint64_t bytes = s.start[part];
        s.start[part] = at;
        at += bytes;
      }
    });
    b.sync();
    for_each(b, parts, [&](std::uint32_t part) {
      std::uint64_t at = s.start[part];
      std::uint64_t end = 0;
      for (std::uint32_t e = first(part); e < first(part + 1); ++e) {
        event_result& result = out.events.results[e];
        result.offset = at;
        at += result.bytes;
        if (result.kept && at > capacity) {
          result.kept = false;
          result.no_room = true;
          result.bytes = 0;
        }
        if (result.kept) end = at;
      }
      s.end[part] = end;
    });
    b.sync();
    for_each(b, 1, [&](std::uint32_t) {
      std::uint64_t end = 0;
      for (std::uint32_t part = 0; part < parts; ++part)
        end = s.end[part] > end ? s.end[part] : end;
      summary->output_bytes = end;
    });
  }
};

} // namespace l3
