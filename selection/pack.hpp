// SPDX-License-Identifier: Apache-2.0
// pack: writes the packed events of docs/formats.md, section 7, at the places that place found. One
// block a board writes the board's data; one block an event writes everything else of it.
//
// A board's samples are packed where they stand, as rows of 16 lanes with a different N in each:
// eight rows make one octet in every lane. Each octet is whole bytes, so lanes share none, and the
// board is put together in shared memory and leaves it in one stream.
#pragma once

#include <cstdint>

#include "gpu/codec/koto.hpp"
#include "gpu/packet.hpp"
#include "gpu/queues/solo.hpp"
#include "selection/columns.hpp"
#include "selection/layout.hpp"

namespace l3 {

struct pack_boards {
  static constexpr std::uint32_t width = 128;

  static constexpr std::uint32_t head_words = l2::header_words + l2::footer_words;
  static constexpr std::uint32_t max_data_bytes =
      2 * head_words + packet_lanes * koto::max_record_bytes;

  /// Where the records of a packet are put together.
  struct lane_records {
    alignas(64) std::uint64_t low[koto::octets][packet_lanes];
    alignas(64) std::uint64_t high[koto::octets][packet_lanes];
    alignas(64) std::uint32_t bits[packet_lanes];
    alignas(64) std::uint16_t minimum[packet_lanes]; // with a sample's tag
    std::uint32_t at[packet_lanes];                  // of the lane's record in the board's data
  };
  struct shared {
    staged_packet packet;
    lane_records lanes;
    alignas(64) std::byte image[max_data_bytes + copy_slack];
  };

  template <block B>
  L3_FN void operator()(const B& b, shared& s, const batch_view& in, const frame_columns& columns,
                        output_view out) const {
    const std::uint32_t i = b.index();
    const board_entry board = in.boards[i];
    const event_result& result = columns.events.results[board.event];
    if (!result.kept) return;
    const fragment_entry fragment = in.fragments[board.fragment];
    std::byte* const to = out.bytes + result.offset + columns.boards.at[i];
    const std::uint32_t form = columns.boards.form[i];
    const std::uint32_t bytes = columns.boards.bytes[i];
    if ((form & board_raw) != 0) return copy_range(b, in, fragment, board.offset, bytes, to);

    s.packet.stage(b, in, fragment, board);
    pack_staged(b, s.packet, s.lanes, i, board.kind, columns, s.image);
    copy_out(b, s.image, to, bytes);
  }

  /// Writes the data of a board that is not raw to `image`, which can be read when this returns;
  /// copy_slack bytes behind it may be overwritten, too.
  /// The packet may have been staged just before; no sync() need stand between.
  template <block B>
  L3_FN static void pack_staged(const B& b, const staged_packet& packet, lane_records& lanes,
                                std::uint32_t i, board_kind kind, const frame_columns& columns,
                                std::byte* image) {
    const std::uint32_t form = columns.boards.form[i];
    take_lanes(b, lanes, i, kind, form, columns.records);
    b.sync();
    make_octets(b, packet, lanes, kind);
    write_stored_words(b, packet, form, image);
    b.sync();
    write_records(b, lanes, kind, image);
    b.sync();
  }

private:
  template <block B>
  L3_FN static void take_lanes(const B& b, lane_records& s, std::uint32_t i, board_kind kind,
                               std::uint32_t form, const record_columns::view& records) {
    for_each(b, packet_lanes, [&](std::uint32_t lane) {
      const std::uint32_t record = packet_lanes * i + record_of(lane, kind);
      s.bits[lane] = records.bits[record];
      s.minimum[lane] = static_cast<std::uint16_t>(records.minimum[record] | l2::sample_tag);
    });
    for_each(b, 1, [&](std::uint32_t) {
      std::uint32_t at = ((form & board_header_stored) != 0 ? 2U * l2::header_words : 0U) +
                         ((form & board_footer_stored) != 0 ? 2U * l2::footer_words : 0U);
      for (std::uint32_t record = 0; record < packet_lanes; ++record) {
        s.at[record_of(record, kind)] = at; // that permutation is its own inverse
        at += koto::record_bytes(records.bits[packet_lanes * i + record]);
      }
    });
  }

  template <block B>
  L3_FN static void make_octets(const B& b, const staged_packet& packet, lane_records& s,
                                board_kind kind) {
    const std::uint16_t* const words = packet.by_lane(kind);
    for_each(b, koto::octets, packet_lanes, [&](std::uint32_t k, std::uint32_t lane) {
      const std::uint16_t* const column = words + k * 8 * packet_lanes + lane;
      const std::uint16_t minimum = s.minimum[lane];
      const std::uint32_t bits = s.bits[lane];
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
  L3_FN static void write_records(const B& b, const lane_records& s, board_kind, std::byte* image) {
    for_each(b, packet_lanes, [&](std::uint32_t lane) {
      koto::store_head(image + s.at[lane], s.bits[lane], s.minimum[lane] & l2::payload_mask);
    });
    for_each(b, packet_lanes, koto::octets, [&](std::uint32_t lane, std::uint32_t k) {
      const std::uint32_t bits = s.bits[lane];
      koto::store_octet(image + s.at[lane] + koto::record_head_bytes + k * bits,
                        {s.low[k][lane], s.high[k][lane]}, bits);
    });
  }

  /// One lane writes everything in the order of the bytes: so each octet may leave as 16 bytes
  /// without a look at N, and whatever comes next overwrites what was too much.
  L3_FN static void write_records(const solo_block&, const lane_records& s, board_kind kind,
                                  std::byte* image) {
    for (std::uint32_t record = 0; record < packet_lanes; ++record) {
      const std::uint32_t lane = record_of(record, kind); // that permutation is its own inverse
      const std::uint32_t bits = s.bits[lane];
      std::byte* to = image + s.at[lane];
      koto::store_head(to, bits, s.minimum[lane] & l2::payload_mask);
      to += koto::record_head_bytes;
      for (std::uint32_t k = 0; k < koto::octets; ++k, to += bits) {
        store(to, s.low[k][lane]);
        store(to + sizeof s.low[k][lane], s.high[k][lane]);
      }
    }
  }

  /// The header and footer words, if they are stored.
  template <block B>
  L3_FN static void write_stored_words(const B& b, const staged_packet& packet, std::uint32_t form,
                                       std::byte* image) {
    std::uint32_t at = 0;
    if ((form & board_header_stored) != 0) {
      for_each(b, l2::header_words,
               [&](std::uint32_t w) { store_big(image + std::size_t{2} * w, packet.header()[w]); });
      at = 2 * l2::header_words;
    }
    if ((form & board_footer_stored) != 0) {
      for_each(b, l2::footer_words, [&](std::uint32_t w) {
        store_big(image + at + std::size_t{2} * w, packet.footer()[w]);
      });
    }
  }
};

struct pack_events {
  static constexpr std::uint32_t width = 128;

  struct shared {};

  template <block B>
  L3_FN void operator()(const B& b, shared&, const batch_view& in, const frame_columns& columns,
                        output_view out) const {
    const event_entry event = in.events[b.index()];
    const event_result result = columns.events.results[b.index()];
    if (!result.kept) return;
    std::byte* const to = out.bytes + result.offset;
    std::byte* const fragment_table = to + sizeof(packed_event);
    std::byte* const board_table = fragment_table + event.fragments * sizeof(packed_fragment);

    for_each(b, 1, [&](std::uint32_t) {
      store(aligned<packed_alignment>(to), header_of(event, result));
      if (event.boards % 2 != 0) { // the board table ends 4 bytes before a multiple of 8
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
    std::uint64_t end = data_offset(event.fragments, event.boards);
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
  L3_FN static packed_event header_of(const event_entry& event, const event_result& result) {
    packed_event h;
    h.bytes = result.bytes;
    h.spill = event.spill;
    h.number = event.number;
    h.flags = static_cast<std::uint16_t>(result.flags);
    h.fragments = static_cast<std::uint16_t>(event.fragments);
    h.boards = event.boards;
    h.reference_time = event.reference_time & reference_mask;
    return h;
  }

  static constexpr std::uint32_t reference_mask = (1U << 28) - 1;
};

} // namespace l3
