// SPDX-License-Identifier: Apache-2.0
// measure_boards: one CUDA block per board reads the packet, checks every tag, finds minimum and N
// of the 16 records, and decides the form of the packed board: with or without its header and
// footer words, or raw if it cannot be decoded.
//
// This kernel reads the packet and writes 51 bytes per board, and pack_boards reads the packet
// again. No kernel writes decoded samples in between, because that would cost more memory traffic
// than the second reading.
#pragma once

#include <cstdint>

#include "gpu/codec/koto.hpp"
#include "gpu/decode/packet.hpp"
#include "selection/packing/frame_columns.hpp"
#include "transport/format/block.hpp"

namespace l3 {

/// The findings about a full packet: about its lanes, and about the words around its samples.
struct packet_findings {
  alignas(64) std::uint32_t bits[packet_lanes];    // N
  alignas(64) std::uint32_t wrong[packet_lanes];   // 1: a tag in this lane is wrong
  alignas(64) std::uint16_t minimum[packet_lanes]; // with its tag
  alignas(64) std::uint16_t maximum[packet_lanes]; // with its tag
  alignas(8) std::uint8_t marks[packet_lanes];     // for each word of header and footer
};

/// The form of a packed board.
struct board_shape {
  std::uint32_t form;  ///< board_form
  std::uint32_t bytes; ///< length of its data
};

struct measure_boards {
  static constexpr std::uint32_t width = 128; // on a device

  static constexpr std::uint32_t parts = 8; // the rows are reduced in parallel parts
  static constexpr std::uint32_t rows_per_part = packet_rows / parts;

  /// Intermediate results of reduce_lanes.
  struct lane_measures {
    alignas(64) std::int16_t low[parts][packet_lanes];
    alignas(64) std::int16_t high[parts][packet_lanes];
    alignas(64) std::int16_t lowest[packet_lanes];
    alignas(64) std::int16_t highest[packet_lanes];
  };
  struct shared {
    staged_packet packet;
    lane_measures lanes;
    packet_findings found;
  };

  template <block B>
  L3_FN void operator()(const B& b, shared& s, const batch_view& in,
                        const frame_columns& out) const {
    const std::uint32_t i = b.index();
    const board_entry board = in.boards[i];
    const fragment_entry fragment = in.fragment_of(i);
    if (!can_be_decoded(board, fragment)) {
      leave_raw(b, i, board, fragment, out);
      return;
    }
    s.packet.stage(b, in, fragment, board);
    b.sync();
    measure_staged(b, s.packet, s.lanes, s.found, in.event_of(i), i, board, fragment, out);
  }

  /// Whether the packet is full and the board did not compress it.
  [[nodiscard]] L3_FN static bool can_be_decoded(const board_entry& board,
                                                 const fragment_entry& fragment) {
    return board.opaque == 0 && is_full_packet(board, fragment);
  }

  template <block B>
  L3_FN static board_shape leave_raw(const B& b, std::uint32_t i, const board_entry& board,
                                     const fragment_entry& fragment, const frame_columns& out) {
    const board_shape shape = raw_shape(board, fragment);
    for_each(b, 1, [&](std::uint32_t) { write_shape(i, shape, out); });
    return shape;
  }

  /// Measures a packet that can be decoded. On return all lanes can read `found`, and `lanes` is
  /// free again.
  template <block B>
  L3_FN static board_shape measure_staged(const B& b, const staged_packet& packet,
                                          lane_measures& lanes, packet_findings& found,
                                          const event_entry& event, std::uint32_t i,
                                          const board_entry& board, const fragment_entry& fragment,
                                          const frame_columns& out) {
    check_words(b, packet, found, board, event);
    reduce_lanes(b, packet, lanes, found, board.kind);
    b.sync();
    const board_shape shape = shape_of(found, board, fragment);
    for_each(b, 1, [&](std::uint32_t) { write_shape(i, shape, out); });
    if ((shape.form & board_raw) != 0) return shape;
    for_each(b, packet_lanes, [&](std::uint32_t lane) {
      const std::uint32_t record = l2::waveforms_per_board * i + record_of(lane, board.kind);
      out.records.minimum[record] =
          static_cast<std::uint16_t>(found.minimum[lane] & l2::payload_mask);
      out.records.bits[record] = static_cast<std::uint8_t>(found.bits[lane]);
    });
    return shape;
  }

  [[nodiscard]] L3_FN static board_shape raw_shape(const board_entry& board,
                                                   const fragment_entry& fragment) {
    return {kind_form(board.kind) | board_raw, packet_bytes(board, fragment)};
  }

  L3_FN static void write_shape(std::uint32_t i, const board_shape& shape,
                                const frame_columns& out) {
    out.boards.form[i] = static_cast<std::uint8_t>(shape.form);
    out.boards.bytes[i] = static_cast<std::uint16_t>(shape.bytes);
  }

  [[nodiscard]] L3_FN static std::uint32_t kind_form(board_kind kind) {
    return kind == board_kind::sampling_500_mhz ? static_cast<std::uint32_t>(board_256_samples) : 0;
  }

  /// Finds minimum, maximum and N of the lanes. `found` can be read after the next sync(). Words
  /// with a sample's tag are 0x8000 … 0xbfff, the smallest of all signed numbers. So minimum and
  /// maximum of the signed words, with their tags, are those of the samples, and the maximum also
  /// shows whether every tag is right.
  template <block B>
  L3_FN static void reduce_lanes(const B& b, const staged_packet& packet, lane_measures& lanes,
                                 packet_findings& found, board_kind kind) {
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
    // A second loop over the same items, because compilers do not vectorise a combined loop.
    for_each(b, packet_lanes, [&](std::uint32_t lane) {
      const std::int32_t low = lanes.lowest[lane];
      const std::int32_t high = lanes.highest[lane];
      found.wrong[lane] = high > largest_sample ? 1 : 0;
      found.minimum[lane] = static_cast<std::uint16_t>(low);
      found.maximum[lane] = static_cast<std::uint16_t>(high);
      found.bits[lane] =
          koto::bits_needed(static_cast<std::uint32_t>(high - low) & l2::payload_mask);
    });
  }

private:
  /// Marks of a word of header or footer.
  static constexpr std::uint32_t wrong_tag = 1;
  static constexpr std::uint32_t other_header = 2; // differs from the word expected for the event
  static constexpr std::uint32_t other_footer = 4;

  template <block B>
  L3_FN static void check_words(const B& b, const staged_packet& packet, packet_findings& found,
                                const board_entry& board, const event_entry& event) {
    const std::uint16_t* const header = packet.header();
    const std::uint16_t* const footer = packet.footer();
    for_each(b, packet_lanes, [&](std::uint32_t w) {
      std::uint32_t marks = 0; // header and footer have only twelve words
      if (w < l2::header_words) {
        const std::uint16_t expected = l2::expected_header_word(
            static_cast<int>(w), event.spill, event.number, board.slot, event.reference_time);
        marks = ((header[w] & l2::wide_tag_mask) != l2::header_tag ? wrong_tag : 0U) |
                (header[w] != expected ? other_header : 0U);
      } else if (w < l2::header_words + l2::footer_words) {
        const std::uint16_t word = footer[w - l2::header_words];
        marks = ((word & l2::footer_tag_mask) != l2::footer_tag ? wrong_tag : 0U) |
                (word != l2::footer_tag ? other_footer : 0U);
      }
      found.marks[w] = static_cast<std::uint8_t>(marks);
    });
  }

  /// The shape of the board, computed equally in every lane.
  [[nodiscard]] L3_FN static board_shape
  shape_of(const packet_findings& found, const board_entry& board, const fragment_entry& fragment) {
    const std::byte* const words =
        aligned<sizeof(std::uint64_t)>(reinterpret_cast<const std::byte*>(found.marks));
    std::uint64_t all = load<std::uint64_t>(words) | load<std::uint64_t>(words + sizeof all);
    for (std::uint32_t half = 32; half >= 8; half /= 2) all |= all >> half;
    const auto marks = static_cast<std::uint32_t>(all);
    std::uint32_t wrong = marks & wrong_tag;
    board_shape shape{kind_form(board.kind), 0};
    if ((marks & other_header) != 0) {
      shape.form |= board_header_stored;
      shape.bytes += 2 * l2::header_words;
    }
    if ((marks & other_footer) != 0) {
      shape.form |= board_footer_stored;
      shape.bytes += 2 * l2::footer_words;
    }
    for (std::uint32_t lane = 0; lane < packet_lanes; ++lane) {
      wrong |= found.wrong[lane];
      shape.bytes += koto::record_bytes(found.bits[lane]);
    }
    return wrong != 0 ? raw_shape(board, fragment) : shape;
  }

  static constexpr std::int16_t largest_sample = -0x4001; // 0xbfff
};

} // namespace l3

#if defined(__CUDACC__)
#include "selection/packing/measure.cuh" // included here so that no device source can leave it out
#endif
