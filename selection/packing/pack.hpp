// SPDX-License-Identifier: Apache-2.0
// pack_boards: one CUDA block per board of a kept event writes the board's data
// (docs/formats.md, section 7), on a device to the board's slot, on a CPU to the place that
// place_boards found. measure_and_pack_boards measures and packs in one kernel, where nothing
// selects. pack_events.hpp writes all other bytes.
//
// The kernel packs the samples in place, in rows of 16 lanes with a different N in each lane: eight
// rows make one octet in every lane. Octets are whole bytes, so no byte belongs to two lanes. The
// block builds the data in shared memory and copies it in one piece.
#pragma once

#include <cstdint>

#include "gpu/codec/koto.hpp"
#include "gpu/decode/packet.hpp"
#include "gpu/executors/solo.hpp"
#include "selection/packing/frame_columns.hpp"
#include "selection/packing/limited_board.hpp"
#include "selection/packing/measure.hpp"

namespace l3 {

struct pack_boards {
  static constexpr std::uint32_t width = 128;

  static constexpr std::uint32_t head_words = l2::header_words + l2::footer_words;
  static constexpr std::uint32_t max_data_bytes =
      2 * head_words + packet_lanes * koto::max_record_bytes;

  /// The records of a packet before they are written.
  struct lane_records {
    alignas(64) std::uint64_t low[koto::octets][packet_lanes];
    alignas(64) std::uint64_t high[koto::octets][packet_lanes];
    std::uint32_t at[packet_lanes]; // where the lane's record starts in the board's data
  };
  struct shared {
    staged_packet packet;
    packet_findings found;
    lane_records lanes;
    alignas(64) std::byte image[max_data_bytes + copy_slack];
  };
  static constexpr std::uint32_t sample_bits = 14; // the largest N, if all tags are right
  static_assert(2 * head_words + packet_lanes * koto::record_bytes(sample_bits) + copy_slack +
                    records_in_slot <=
                board_slot_bytes);

  /// The shared memory of measure_and_pack.
  struct shared_of_fused {
    staged_packet packet;
    packet_findings found;
    union { // used in sequence
      measure_boards::lane_measures measures;
      lane_records records;
    };
  };

  template <block B>
  L3_FN void operator()(const B& b, shared& s, const batch_view& in, const frame_columns& columns,
                        const output_view& out) const {
    const std::uint32_t i = b.index();
    const board_entry board = in.boards[i];
    const board_home home = in.homes[i];
    if (columns.events.accepted[home.event] == 0) return;
    const fragment_entry fragment = in.fragments[home.fragment];
    const std::uint32_t form = columns.boards.form[i];
    const std::uint32_t bytes = columns.boards.bytes[i];
    const bool in_slot = columns.has_slots();
    if (in_slot && (form & (board_raw | board_strong)) != 0) return; // packed by others
    std::byte* const to = in_slot ? columns.packed(i, form)
                                  : out.bytes + out.starts[home.event] + columns.boards.at[i];
    if ((form & board_raw) != 0) return copy_range(b, in, fragment, board.offset, bytes, to);
    if ((form & board_limited) != 0) return pack_limited(b, s, in, columns, i, to);
    s.packet.stage(b, in, fragment, board);
    take_findings(b, s.found, i, board.kind, columns.records);
    b.sync();
    pack_staged(b, s.packet, s.found, s.lanes, board.kind, {form, bytes}, s.image);
    copy_out(b, s.image, to, bytes);
  }

  /// Writes the data of a board that is not raw to `image`, which all lanes can read on return. It
  /// may overwrite copy_slack bytes after the data. It reads only minimum and bits of `found`.
  template <block B>
  L3_FN static void pack_staged(const B& b, const staged_packet& packet,
                                const packet_findings& found, lane_records& lanes, board_kind kind,
                                const board_shape& shape, std::byte* image,
                                std::uint32_t records = all_records) {
    find_places(b, found, lanes, kind, stored_words_bytes(shape.form), records);
    make_octets(b, packet, found, lanes, kind);
    b.sync();
    write_stored_words(b, packet, shape.form, image);
    write_records(b, found, lanes, kind, image, records);
    b.sync();
  }

  /// Measures a board, and writes its data to place(shape) unless it stays raw. Like pack_staged it
  /// may overwrite copy_slack bytes after the data.
  template <block B, class Place>
  L3_FN static board_shape measure_and_pack(const B& b, shared_of_fused& s, const batch_view& in,
                                            const event_entry& event,
                                            const fragment_entry& fragment, std::uint32_t i,
                                            const frame_columns& columns, Place place) {
    const board_entry board = in.boards[i];
    if (!measure_boards::can_be_decoded(board, fragment))
      return measure_boards::leave_raw(b, i, board, fragment, columns);
    s.packet.stage(b, in, fragment, board);
    b.sync();
    const board_shape shape = measure_boards::measure_staged(b, s.packet, s.measures, s.found,
                                                             event, i, board, fragment, columns);
    if ((shape.form & board_raw) == 0)
      pack_staged(b, s.packet, s.found, s.records, board.kind, shape, place(shape));
    return shape;
  }

  /// Writes the header and footer words that the form stores.
  template <block B>
  L3_FN static void write_stored_words(const B& b, const staged_packet& packet, std::uint32_t form,
                                       std::byte* image) {
    const auto write = [&](const std::uint16_t* words, std::uint32_t n, std::byte* to) {
      for_each(b, n, [&](std::uint32_t w) {
        constexpr std::uint32_t size = sizeof words[0];
        koto::store_octet(to + size * w, {swap_bytes(words[w]), 0}, size);
      });
    };
    const bool with_header = (form & board_header_stored) != 0;
    if (with_header) write(packet.header(), l2::header_words, image);
    if ((form & board_footer_stored) != 0)
      write(packet.footer(), l2::footer_words, image + (with_header ? 2 * l2::header_words : 0));
  }

  /// Packs a board with some or none of its waveforms: the mask of its records, the words and
  /// records as for every board, and its pulse rows if these are kept.
  template <block B>
  L3_FN static void pack_limited(const B& b, shared& s, const batch_view& in,
                                 const frame_columns& columns, std::uint32_t i, std::byte* to) {
    const board_entry board = in.boards[i];
    const std::uint32_t form = columns.boards.form[i];
    const std::uint32_t bytes = columns.boards.bytes[i];
    const std::uint32_t records = columns.boards.records[i];
    for_each(b, 1, [&](std::uint32_t) { koto::store_octet(to, {records, 0}, board_mask_bytes); });
    std::uint32_t end = bytes;
    if ((form & board_features) != 0) {
      end -= features_bytes(columns.boards.rows[i]);
      write_features(b, columns, i, to + end);
    }
    if (end == board_mask_bytes) return;
    s.packet.stage(b, in, in.fragment_of(i), board);
    take_findings(b, s.found, i, board.kind, columns.records);
    b.sync();
    pack_staged(b, s.packet, s.found, s.lanes, board.kind, {form, bytes}, s.image, records);
    copy_out(b, s.image, to + board_mask_bytes, end - board_mask_bytes);
  }

private:
  template <block B>
  L3_FN static void write_features(const B& b, const frame_columns& columns, std::uint32_t i,
                                   std::byte* to) {
    const std::uint32_t rows = columns.boards.rows[i];
    for_each(b, packet_lanes, [&](std::uint32_t r) {
      if (r == 0) koto::store_octet(to, {rows, 0}, board_mask_bytes);
      if ((rows >> r & 1) == 0) return;
      const packed_pulse p = packed_row(columns.selected.pulses, packet_lanes * i + r);
      const std::uint32_t before = ones(rows & ((1U << r) - 1));
      store(to + board_mask_bytes + before * sizeof p, p);
    });
  }

  template <block B>
  L3_FN static void take_findings(const B& b, packet_findings& found, std::uint32_t i,
                                  board_kind kind, const record_columns::view& records) {
    for_each(b, packet_lanes, [&](std::uint32_t lane) {
      const std::uint32_t record = packet_lanes * i + record_of(lane, kind);
      found.bits[lane] = records.bits[record];
      found.minimum[lane] = static_cast<std::uint16_t>(records.minimum[record] | l2::sample_tag);
    });
  }

  /// Each lane adds up the lengths of earlier records; the first record is at `first`.
  template <block B>
  L3_FN static void find_places(const B& b, const packet_findings& found, lane_records& s,
                                board_kind kind, std::uint32_t first, std::uint32_t records) {
    for_each(b, packet_lanes, [&](std::uint32_t lane) {
      const std::uint32_t before = records & ((1U << record_of(lane, kind)) - 1);
      std::uint32_t at = first;
      for (std::uint32_t other = 0; other < packet_lanes; ++other)
        at +=
            (before >> record_of(other, kind) & 1) != 0 ? koto::record_bytes(found.bits[other]) : 0;
      s.at[lane] = at;
    });
  }

  /// The form for one lane, which adds in the order of the records.
  L3_FN static void find_places(const solo_block&, const packet_findings& found, lane_records& s,
                                board_kind kind, std::uint32_t first, std::uint32_t records) {
    for (std::uint32_t record = 0; record < packet_lanes; ++record) {
      const std::uint32_t lane = record_of(record, kind); // this permutation is its own inverse
      s.at[lane] = first;
      if ((records >> record & 1) == 0) continue;
      first += koto::record_bytes(found.bits[lane]);
    }
  }

  template <block B>
  L3_FN static void make_octets(const B& b, const staged_packet& packet,
                                const packet_findings& found, lane_records& s, board_kind kind) {
    const std::uint16_t* const words = packet.by_lane(kind);
    for_each(b, koto::octets, packet_lanes, [&](std::uint32_t k, std::uint32_t lane) {
      const std::uint16_t* const column = words + k * 8 * packet_lanes + lane;
      const std::uint16_t minimum = found.minimum[lane];
      const std::uint32_t bits = found.bits[lane];
      const auto difference = [&](std::uint32_t row) -> std::uint32_t {
        return static_cast<std::uint16_t>(column[row * packet_lanes] - minimum);
      };
      const auto pair = [&](std::uint32_t row) -> std::uint64_t {
        return difference(row) | (difference(row + 1) << bits);
      };
      const auto quad = [&](std::uint32_t row) {
        return pair(row) | (pair(row + 2) << (2 * bits));
      };
      const koto::octet o = koto::merge_quads(quad(0), quad(4), bits);
      s.low[k][lane] = o.low;
      s.high[k][lane] = o.high;
    });
  }

  template <block B>
  L3_FN static void write_records(const B& b, const packet_findings& found, const lane_records& s,
                                  board_kind kind, std::byte* image, std::uint32_t records) {
    for_each(b, packet_lanes, [&](std::uint32_t lane) {
      if ((records >> record_of(lane, kind) & 1) == 0) return;
      const std::uint32_t minimum = found.minimum[lane] & l2::payload_mask;
      koto::store_octet(image + s.at[lane], {found.bits[lane] | minimum << 8, 0},
                        koto::record_head_bytes);
    });
    for_each(b, packet_lanes, koto::octets, [&](std::uint32_t lane, std::uint32_t k) {
      if ((records >> record_of(lane, kind) & 1) == 0) return;
      const std::uint32_t bits = found.bits[lane];
      koto::store_octet(image + s.at[lane] + koto::record_head_bytes + k * bits,
                        {s.low[k][lane], s.high[k][lane]}, bits);
    });
  }

  /// The form for one lane, which writes bytes in order. It stores each octet as 16 bytes for every
  /// N, and the next store overwrites the excess.
  L3_FN static void write_records(const solo_block&, const packet_findings& found,
                                  const lane_records& s, board_kind kind, std::byte* image,
                                  std::uint32_t records) {
    for (std::uint32_t record = 0; record < packet_lanes; ++record) {
      if ((records >> record & 1) == 0) continue;
      const std::uint32_t lane = record_of(record, kind); // this permutation is its own inverse
      const std::uint32_t bits = found.bits[lane];
      std::byte* to = image + s.at[lane];
      koto::store_head(to, bits, found.minimum[lane] & l2::payload_mask);
      to += koto::record_head_bytes;
      for (std::uint32_t k = 0; k < koto::octets; ++k, to += bits) {
        store(to, s.low[k][lane]);
        store(to + sizeof s.low[k][lane], s.high[k][lane]);
      }
    }
  }
};

/// Where every event is kept: one CUDA block per board measures the board and packs it to its slot.
struct measure_and_pack_boards {
  static constexpr std::uint32_t width = pack_boards::width;

  using shared = pack_boards::shared_of_fused;

  template <block B>
  L3_FN void operator()(const B& b, shared& s, const batch_view& in,
                        const frame_columns& columns) const {
    const std::uint32_t i = b.index();
    static_cast<void>(pack_boards::measure_and_pack(
        b, s, in, in.event_of(i), in.fragment_of(i), i, columns,
        [&](const board_shape& shape) { return columns.packed(i, shape.form); }));
  }
};

} // namespace l3

#if defined(__CUDACC__)
#include "selection/packing/pack.cuh" // included here so that no device source can leave it out
#endif
