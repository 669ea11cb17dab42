// SPDX-License-Identifier: Apache-2.0
// measure: one block a board. Reads the packet, checks every tag, finds minimum and N of its 16
// records, and decides in which form the board will be written: with or without its header and
// footer words, or raw if it cannot be decoded.
//
// Packing is done in two passes: this one reads the packet and leaves 51 bytes a board, and pack
// reads the packet again. Decoded samples are never written out in between: that would cost more
// memory traffic than the second reading.
#pragma once

#include <cstdint>

#include "gpu/codec/koto.hpp"
#include "gpu/packet.hpp"
#include "selection/columns.hpp"
#include "transport/format/block.hpp"

namespace l3 {

struct measure_boards {
  static constexpr std::uint32_t width = 128; // on a device

  static constexpr std::uint32_t parts = 8; // of the rows, reduced side by side
  static constexpr std::uint32_t rows_per_part = packet_rows / parts;

  /// What is found of the lanes of a packet.
  struct lane_measures {
    alignas(64) std::int16_t low[parts][packet_lanes];
    alignas(64) std::int16_t high[parts][packet_lanes];
    alignas(64) std::int16_t lowest[packet_lanes];
    alignas(64) std::int16_t highest[packet_lanes];
    std::uint32_t minimum[packet_lanes];
    std::uint32_t bits[packet_lanes];
    std::uint32_t wrong[packet_lanes]; // a tag is wrong
  };
  struct shared {
    staged_packet packet;
    lane_measures lanes;
  };

  template <block B>
  L3_FN void operator()(const B& b, shared& s, const batch_view& in,
                        const frame_columns& out) const {
    const std::uint32_t i = b.index();
    const board_entry board = in.boards[i];
    const fragment_entry fragment = in.fragments[board.fragment];
    if (!can_be_decoded(board, fragment)) return leave_raw(b, i, board, fragment, out);
    s.packet.stage(b, in, fragment, board);
    b.sync();
    measure_staged(b, s.packet, s.lanes, in, i, board, fragment, out);
  }

  /// Whether it is worth a look.
  [[nodiscard]] L3_FN static bool can_be_decoded(const board_entry& board,
                                                 const fragment_entry& fragment) {
    return board.opaque == 0 && is_full_packet(board, fragment);
  }

  template <block B>
  L3_FN static void leave_raw(const B& b, std::uint32_t i, const board_entry& board,
                              const fragment_entry& fragment, const frame_columns& out) {
    for_each(b, 1, [&](std::uint32_t) { write_raw(i, board, fragment, out); });
  }

  /// Of a packet that can be read; `lanes` is free again after the next sync().
  template <block B>
  L3_FN static void measure_staged(const B& b, const staged_packet& packet, lane_measures& lanes,
                                   const batch_view& in, std::uint32_t i, const board_entry& board,
                                   const fragment_entry& fragment, const frame_columns& out) {
    reduce_lanes(b, packet, lanes, board.kind);
    b.sync();
    for_each(b, 1, [&](std::uint32_t) {
      write_form(packet, lanes, i, board, fragment, in.events[board.event], out);
    });
    for_each(b, packet_lanes, [&](std::uint32_t lane) {
      const std::uint32_t record = l2::waveforms_per_board * i + record_of(lane, board.kind);
      out.records.minimum[record] = static_cast<std::uint16_t>(lanes.minimum[lane]);
      out.records.bits[record] = static_cast<std::uint8_t>(lanes.bits[lane]);
    });
  }

private:
  /// Words with a sample's tag are 0x8000 … 0xbfff, the smallest of all as signed numbers: compared
  /// as such, with their tags on, they give the extremes of the samples, and the maximum tells
  /// whether every tag was right.
  template <block B>
  L3_FN static void reduce_lanes(const B& b, const staged_packet& packet, lane_measures& lanes,
                                 board_kind kind) {
    const std::uint16_t* const words = packet.by_lane(kind);
    for_each(b, parts, packet_lanes, [&](std::uint32_t part, std::uint32_t lane) {
      const std::uint16_t* const column = words + part * rows_per_part * packet_lanes + lane;
      auto low = static_cast<std::int16_t>(column[0]);
      std::int16_t high = low;
      for (std::uint32_t r = 1; r < rows_per_part; ++r) {
        const auto word = static_cast<std::int16_t>(column[r * packet_lanes]);
        low = word < low ? word : low;
        high = word > high ? word : high;
      }
      lanes.low[part][lane] = low;
      lanes.high[part][lane] = high;
    });
    b.sync();
    for_each(b, packet_lanes, [&](std::uint32_t lane) {
      std::int16_t low = lanes.low[0][lane];
      std::int16_t high = lanes.high[0][lane];
      for (std::uint32_t part = 1; part < parts; ++part) {
        low = lanes.low[part][lane] < low ? lanes.low[part][lane] : low;
        high = lanes.high[part][lane] > high ? lanes.high[part][lane] : high;
      }
      lanes.lowest[lane] = low;
      lanes.highest[lane] = high;
    });
    // A loop of its own, over the same items: together compilers vectorise neither.
    for_each(b, packet_lanes, [&](std::uint32_t lane) {
      const std::int32_t low = lanes.lowest[lane];
      const std::int32_t high = lanes.highest[lane];
      lanes.wrong[lane] = high > largest_sample ? 1 : 0;
      lanes.minimum[lane] = static_cast<std::uint32_t>(low) & l2::payload_mask;
      lanes.bits[lane] =
          koto::bits_needed(static_cast<std::uint32_t>(high - low) & l2::payload_mask);
    });
  }

  L3_FN static void write_form(const staged_packet& packet, const lane_measures& lanes,
                               std::uint32_t i, const board_entry& board,
                               const fragment_entry& fragment, const event_entry& event,
                               const frame_columns& out) {
    const std::uint16_t* const header = packet.header();
    const std::uint16_t* const footer = packet.footer();
    bool wrong = false;
    bool header_predicted = true;
    bool footer_predicted = true;
    for (int w = 0; w < l2::header_words; ++w) {
      wrong |= (header[w] & l2::wide_tag_mask) != l2::header_tag;
      header_predicted &= header[w] == l2::expected_header_word(w, event.spill, event.number,
                                                                board.slot, event.reference_time);
    }
    for (int w = 0; w < l2::footer_words; ++w) {
      wrong |= (footer[w] & l2::footer_tag_mask) != l2::footer_tag;
      footer_predicted &= footer[w] == l2::footer_tag;
    }
    std::uint32_t form = kind_form(board.kind);
    std::uint32_t bytes = 0;
    if (!header_predicted) {
      form |= board_header_stored;
      bytes += 2 * l2::header_words;
    }
    if (!footer_predicted) {
      form |= board_footer_stored;
      bytes += 2 * l2::footer_words;
    }
    for (std::uint32_t lane = 0; lane < packet_lanes; ++lane) {
      wrong |= lanes.wrong[lane] != 0;
      bytes += koto::record_bytes(lanes.bits[lane]);
    }
    if (wrong) return write_raw(i, board, fragment, out);
    out.boards.form[i] = static_cast<std::uint8_t>(form);
    out.boards.bytes[i] = static_cast<std::uint16_t>(bytes);
  }

  L3_FN static void write_raw(std::uint32_t i, const board_entry& board,
                              const fragment_entry& fragment, const frame_columns& out) {
    out.boards.form[i] = static_cast<std::uint8_t>(kind_form(board.kind) | board_raw);
    out.boards.bytes[i] = static_cast<std::uint16_t>(packet_bytes(board, fragment));
  }

  [[nodiscard]] L3_FN static std::uint32_t kind_form(board_kind kind) {
    return kind == board_kind::sampling_500_mhz ? static_cast<std::uint32_t>(board_256_samples) : 0;
  }

  static constexpr std::int16_t largest_sample = -0x4001; // 0xbfff
};

} // namespace l3
