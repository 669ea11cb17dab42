// SPDX-License-Identifier: Apache-2.0
// The plan for runs that keep everything on a CPU: a kernel reads each packet once, measures and
// packs it, and writes it to its place in the output. The bytes are those of
// two_pass_plan<keep_all>.
//
// A *tile* is up to eight boards of a fragment. Each CUDA block takes tiles by ticket in rising
// order, builds the data of its boards in shared memory, and publishes their length. The place of
// the tile is the sum over all earlier tiles: the block looks back over the published words
// (look_back.hpp). It waits only for tiles with lower tickets. Running blocks have these, and the
// lowest of them waits for no other, so the kernel ends on every executor, even if it runs the
// blocks in another order. The later kernels compute the sizes of events from the columns, as with
// two passes, and write header, tables and raw fragments.
//
// Every tile belongs to an event. A tile without one would never publish its end, and later tiles
// would spin. So each fragment must belong to one event, and fragments must be in the order of
// their events; the engine checks that (fragments_follow_events).
#pragma once

#include <cstdint>

#include "gpu/columns/soa.hpp"
#include "gpu/executors/atomics.hpp"
#include "selection/packing/look_back.hpp"
#include "selection/packing/two_pass_plan.hpp"

namespace l3 {

/// The shared columns of pack_tiles' blocks, with a row per tile.
template <template <class> class column>
struct tile_fields {
  column<std::uint64_t> front;          ///< a position_word: the tile without its boards
  column<std::uint64_t> position;       ///< a position_word
  column<scalar<std::uint32_t>> ticket; ///< the next tile to take
};
using tile_columns = soa<tile_fields>;

inline constexpr std::uint32_t tiles_per_fragment = 2;

struct one_pass_columns {
  frame_columns frame;
  tile_columns::view tiles;

  [[nodiscard]] static one_pass_columns take(region& from, const batch_capacity& capacity,
                                             column<event_result> results) {
    one_pass_columns c;
    c.frame = frame_columns::take(from, capacity, results);
    c.tiles = tile_columns::take(from, capacity.fragments * tiles_per_fragment);
    return c;
  }
};

/// One CUDA block per event writes what precedes the boards of its tiles and clears their
/// positions.
struct begin_one_pass {
  static constexpr std::uint32_t width = 32;

  struct shared {};

  template <block B>
  L3_FN void operator()(const B& b, shared&, const batch_view& in, const frame_columns& columns,
                        const tile_columns::view& tiles) const {
    const std::uint32_t e = b.index();
    for_each(b, in.events[e].fragments, [&](std::uint32_t k) {
      const std::uint32_t f = in.events[e].first_fragment + k;
      for (std::uint32_t t = tiles_per_fragment * f; t < tiles_per_fragment * (f + 1); ++t) {
        tiles.front[t] = front_of(in, e, t).word();
        tiles.position[t] = position_word().word();
      }
    });
    for_each(b, 1, [&](std::uint32_t) {
      columns.events.accepted[e] = 1;
      if (e == 0) *tiles.ticket = 0;
    });
  }

private:
  /// The length of everything in front of the data of the tile's boards. In the first tile of an
  /// event this includes the event's header and tables, and those of preceding events without
  /// fragments; in the first tile of a raw fragment, the fragment.
  L3_FN static position_word front_of(const batch_view& in, std::uint32_t e, std::uint32_t t) {
    const event_entry event = in.events[e];
    const fragment_entry& f = in.fragments[t / tiles_per_fragment];
    std::uint64_t bytes = f.raw != 0 && t % tiles_per_fragment == 0 ? f.bytes : 0;
    if (t != tiles_per_fragment * event.first_fragment)
      return position_word::after_previous(bytes, false);
    bytes += data_offset(event.fragments, event.boards);
    for (std::uint32_t k = e; k > 0 && in.events[k - 1].fragments == 0; --k)
      bytes += data_offset(0, 0);
    return position_word::after_previous(bytes, true);
  }
};

struct pack_tiles {
  static constexpr std::uint32_t width = 128;

  static constexpr std::uint32_t boards = l2::max_boards / tiles_per_fragment; // at most in a tile
  static constexpr std::uint32_t sample_bits = 14;
  static constexpr std::uint32_t max_board_bytes =
      2 * pack_boards::head_words + packet_lanes * koto::record_bytes(sample_bits);

  struct shared {
    staged_packet packet;
    packet_findings found;
    union { // used in sequence
      measure_boards::lane_measures measures;
      pack_boards::lane_records records;
      look_back::shared ends;
    };
    std::uint32_t ticket;
    alignas(64) std::byte image[boards * max_board_bytes + copy_slack];
  };

  [[nodiscard]] static std::uint32_t blocks(const batch_view& in) {
    return tiles_per_fragment * in.fragments.size();
  }

  template <block B>
  L3_FN void operator()(const B& b, shared& s, const batch_view& in, const frame_columns& columns,
                        const tile_columns::view& tiles, output_view out) const {
    for_each(b, 1, [&](std::uint32_t) { s.ticket = fetch_add(b, tiles.ticket.data(), 1); });
    b.sync();
    const std::uint32_t t = s.ticket;
    const tile mine = tile_of(in, t);
    std::uint64_t bytes = 0;
    for (std::uint32_t i = mine.first, made = 0; i < mine.last; ++i) {
      const board_shape shape = make_board(b, s, in, mine.fragment, i, columns, s.image + made);
      if ((shape.form & board_raw) == 0) made += shape.bytes;
      bytes += shape.bytes;
    }
    const std::uint64_t start =
        find_end(b, s.ends, t, position_word(tiles.front[t]).longer_by(bytes), tiles.position) -
        bytes;
    if (start + bytes <= out.capacity) // otherwise place_events marks the event as having no room
      write_boards(b, s.image, in, mine, columns, out.bytes + start);
  }

  struct tile {
    fragment_entry fragment;
    std::uint32_t first; // the first board
    std::uint32_t last;  // one after the last board
  };

  L3_FN static tile tile_of(const batch_view& in, std::uint32_t t) {
    const fragment_entry f = in.fragments[t / tiles_per_fragment];
    const std::uint32_t part = t % tiles_per_fragment;
    const std::uint32_t from = part * boards; // above `to` in a tile without boards
    const std::uint32_t to = from + boards < f.boards ? from + boards : f.boards;
    return {f, f.first_board + from, f.first_board + to};
  }

private:
  /// Writes the board's data to `image`, unless the board is raw: write_boards copies raw boards
  /// from the input.
  template <block B>
  L3_FN static board_shape make_board(const B& b, shared& s, const batch_view& in,
                                      const fragment_entry& fragment, std::uint32_t i,
                                      const frame_columns& columns, std::byte* image) {
    const board_entry board = in.boards[i];
    if (!measure_boards::can_be_decoded(board, fragment))
      return measure_boards::leave_raw(b, i, board, fragment, columns);
    s.packet.stage(b, in, fragment, board);
    b.sync();
    const board_shape shape = measure_boards::measure_staged(b, s.packet, s.measures, s.found, in,
                                                             i, board, fragment, columns);
    if ((shape.form & board_raw) == 0)
      pack_boards::pack_staged(b, s.packet, s.found, s.records, board.kind, shape, image);
    return shape;
  }

  /// Copies adjacent boards of the image together.
  template <block B>
  L3_FN static void write_boards(const B& b, const std::byte* image, const batch_view& in,
                                 const tile& mine, const frame_columns& columns, std::byte* to) {
    std::uint32_t made = 0;
    for (std::uint32_t i = mine.first; i < mine.last; ++i) {
      const std::uint32_t n = columns.boards.bytes[i];
      if ((columns.boards.form[i] & board_raw) == 0) {
        made += n;
        continue;
      }
      copy_out(b, image, to, made);
      copy_range(b, in, mine.fragment, in.boards[i].offset, n, to + made);
      image += made;
      to += made + n;
      made = 0;
    }
    copy_out(b, image, to, made);
  }
};

/// The plan that keeps everything.
struct one_pass_plan {
  using columns = one_pass_columns;

  template <class Queue>
  static void run(Queue& queue, const batch_view& in, const columns& all, output_view out,
                  frame_summary* summary) {
    find_packets_first(queue, in, all.frame);
    stage(queue, "pack boards");
    queue.run(begin_one_pass{}, in.events.size(), in, all.frame, all.tiles);
    queue.run(pack_tiles{}, pack_tiles::blocks(in), in, all.frame, all.tiles, out);
    stage(queue, "place");
    queue.run(place_boards{}, in.events.size(), in, all.frame);
    queue.run(place_events{}, 1, all.frame, in.events.size(), out.capacity, summary);
    stage(queue, "pack events");
    queue.run(pack_events{}, in.events.size(), in, all.frame, out);
  }
};

} // namespace l3
