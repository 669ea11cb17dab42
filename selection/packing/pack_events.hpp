// SPDX-License-Identifier: Apache-2.0
// pack_events: one CUDA block per kept event writes the packed event (docs/formats.md, section 7)
// except the data of boards: header, tables, the summary if there is a selection, the payload table
// if lines limit the payload, raw fragments, and the zeros at the end. The place kernels have found
// the event's place.
#pragma once

#include <cstdint>

#include "gpu/decode/packet.hpp"
#include "selection/packing/frame_columns.hpp"
#include "selection/packing/layout.hpp"

namespace l3 {

struct pack_events {
  static constexpr std::uint32_t width = 128;

  struct shared {};

  template <block B>
  L3_FN void operator()(const B& b, shared&, const batch_view& in, const frame_columns& columns,
                        const output_view& out) const {
    pack(b, b.index(), in, columns, out);
  }

  /// Packs event e if it is kept.
  template <block B>
  L3_FN static void pack(const B& b, std::uint32_t e, const batch_view& in,
                         const frame_columns& columns, const output_view& out) {
    const event_entry event = in.events[e];
    const event_result result = columns.events.results[e];
    if (result.kept == 0) return;
    std::byte* const to = out.bytes + result.offset;
    const std::uint32_t summary_bytes = columns.selected.summary_bytes(e);
    const std::uint32_t payload_bytes = columns.selected.payload_bytes();
    std::byte* const fragment_table = to + sizeof(packed_event);
    std::byte* const board_table = fragment_table + event.fragments * sizeof(packed_fragment);

    for_each(b, 1, [&](std::uint32_t) {
      packed_event h = header_of(event, result, summary_bytes);
      if (payload_bytes != 0) {
        h.version = 1;
        h.payload = columns.selected.summaries[e].payload;
        h.payload_bytes = static_cast<std::uint16_t>(payload_bytes);
      }
      store(aligned<packed_alignment>(to), h);
      if (event.boards % 2 != 0) { // the table of boards ends 4 bytes before a multiple of 8
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
    if (summary_bytes != 0)
      pack_summary(b, e, columns.selected, to + summary_offset(event.fragments, event.boards));
    if (payload_bytes != 0)
      pack_payload(b, e, columns.selected,
                   to + data_offset(event.fragments, event.boards, summary_bytes));
    std::uint64_t end = data_offset(event.fragments, event.boards, summary_bytes + payload_bytes);
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
  L3_FN static packed_event header_of(const event_entry& event, const event_result& result,
                                      std::uint32_t summary_bytes) {
    packed_event h;
    h.bytes = result.bytes;
    h.spill = event.spill;
    h.number = event.number;
    h.flags = static_cast<std::uint16_t>(result.flags);
    h.fragments = static_cast<std::uint16_t>(event.fragments);
    h.boards = event.boards;
    h.reference_time = event.reference_time & reference_mask;
    h.summary_bytes = summary_bytes;
    return h;
  }

  template <block B>
  L3_FN static void pack_summary(const B& b, std::uint32_t e, const selected_columns& selected,
                                 std::byte* to) {
    const event_summary& s = selected.summaries[e];
    std::byte* const lines = to + sizeof(packed_summary);
    std::byte* const photons = lines + s.lines * sizeof(packed_line);
    std::byte* const values = photons + s.photons * sizeof(photon_summary);
    std::byte* const hits = values + quantities * sizeof(std::int32_t);
    std::byte* const reasons = hits + s.hits * sizeof(veto_hit_summary);
    for_each(b, 1, [&](std::uint32_t) {
      packed_summary head;
      head.lines = s.lines;
      head.photons = s.photons;
      head.quantities = static_cast<std::uint8_t>(quantities);
      head.trigger = s.trigger;
      head.status = s.status;
      head.hits = s.hits;
      head.photons_found = s.photons_found;
      head.settings = selected.settings;
      head.fired = s.fired;
      head.kept_by = s.kept_by;
      head.vetoes = s.vetoes;
      head.unknown = s.unknown;
      store(aligned<packed_alignment>(to), head);
    });
    for_each(b, s.lines, [&](std::uint32_t n) {
      store(aligned<packed_alignment>(lines + n * sizeof(packed_line)), selected.lines[n]);
    });
    for_each(b, s.photons, [&](std::uint32_t n) {
      store(aligned<packed_alignment>(photons + n * sizeof(photon_summary)), s.photon[n]);
    });
    for_each(b, quantities, [&](std::uint32_t n) {
      store(aligned<sizeof(std::int32_t)>(values + n * sizeof(std::int32_t)), s.quantity[n]);
    });
    for_each(b, s.hits, [&](std::uint32_t n) {
      store(aligned<sizeof(std::int32_t)>(hits + n * sizeof(veto_hit_summary)), s.hit[n]);
    });
    const auto left = static_cast<std::uint32_t>(to + selected.summary_bytes(e) - reasons);
    for_each(b, left, [&](std::uint32_t n) { // zeros up to a multiple of 8
      reasons[n] = std::byte{n < s.lines ? s.reason[n] : std::uint8_t{0}};
    });
  }

  template <block B>
  L3_FN static void pack_payload(const B& b, std::uint32_t e, const selected_columns& selected,
                                 std::byte* to) {
    const event_summary& s = selected.summaries[e];
    for_each(b, 1, [&](std::uint32_t) {
      store(aligned<packed_alignment>(to), packed_payload{selected.levels, s.asked, s.control, {}});
    });
    for_each(b, selected.payloads.size(), [&](std::uint32_t n) {
      store(
          aligned<packed_alignment>(to + sizeof(packed_payload) + n * sizeof(packed_line_payload)),
          selected.payloads[n]);
    });
  }

  static constexpr std::uint32_t reference_mask = (1U << 28) - 1;
};

} // namespace l3
