// SPDX-License-Identifier: Apache-2.0
// The sequence for runs that keep everything: each packet is read once, measured, packed and
// written where it belongs. The bytes are those of two_passes<keep_all>.
//
// A block takes a tile, which is up to eight boards of a fragment, by a ticket, in their order. It
// puts the data of these boards together in shared memory and tells how long that is. Where it goes
// is the sum over all tiles before it: the block looks back over what their blocks have told, until
// it comes to one that knew its own place. It waits only for tickets below its own. Those were
// taken by blocks that are running, the lowest of which waits for nobody: so it ends on any
// executor, whatever order it takes blocks in. The sizes of events come of the same columns as
// ever, when all boards are packed; header, tables and raw fragments are written then.
#pragma once

#include <cstdint>

#include "gpu/atomics.hpp"
#include "gpu/columns/soa.hpp"
#include "selection/sequence.hpp"

namespace l3 {

/// A row a tile: what the blocks of pack_tiles share.
template <template <class> class column>
struct tile_fields {
  column<std::uint32_t> event;          ///< of which event it is
  column<std::uint64_t> position;       ///< a position_word
  column<scalar<std::uint32_t>> ticket; ///< the next tile to be taken
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

/// What is known of where a tile's data ends, in one word, so that it is told in one store.
class position_word {
public:
  position_word() = default;
  L3_FN explicit position_word(std::uint64_t word) : word_(word) {}

  /// It ends that many bytes behind the end of the one before it: behind the multiple of 8 that
  /// follows it, if the tile is the first of its event.
  [[nodiscard]] L3_FN static position_word after_previous(std::uint64_t bytes, bool first) {
    return position_word(bytes << shift | (first ? first_bit : 0) | relative_bit);
  }
  /// It ends there.
  [[nodiscard]] L3_FN static position_word at(std::uint64_t end) {
    return position_word(end << shift | absolute_bit);
  }

  [[nodiscard]] L3_FN bool is_relative() const { return (word_ & relative_bit) != 0; }
  [[nodiscard]] L3_FN bool is_absolute() const { return (word_ & absolute_bit) != 0; }
  [[nodiscard]] L3_FN std::uint64_t word() const { return word_; }

  /// Where it ends, if the one before it ends at `previous`.
  [[nodiscard]] L3_FN std::uint64_t end(std::uint64_t previous) const {
    const std::uint64_t bytes = word_ >> shift;
    if (is_absolute()) return bytes;
    return ((word_ & first_bit) != 0 ? round_up(previous, packed_alignment) : previous) + bytes;
  }

private:
  static constexpr std::uint32_t shift = 3;
  static constexpr std::uint64_t absolute_bit = 1;
  static constexpr std::uint64_t relative_bit = 2;
  static constexpr std::uint64_t first_bit = 4;

  std::uint64_t word_ = 0;
};

/// One block an event: finds its fragments, about which nothing is known yet.
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
        tiles.event[t] = e;
        tiles.position[t] = position_word().word();
      }
    });
    for_each(b, 1, [&](std::uint32_t) {
      columns.events.accepted[e] = 1;
      if (e == 0) *tiles.ticket = 0;
    });
  }
};

struct pack_tiles {
  static constexpr std::uint32_t width = 128;

  static constexpr std::uint32_t boards = l2::max_boards / tiles_per_fragment; // of a tile
  static constexpr std::uint32_t sample_bits = 14;
  static constexpr std::uint32_t max_board_bytes =
      2 * pack_boards::head_words + packet_lanes * koto::record_bytes(sample_bits);
  static constexpr std::uint32_t window = width; // tiles that are looked back at in one go

  struct shared {
    staged_packet packet;
    union { // one after the other
      measure_boards::lane_measures measures;
      pack_boards::lane_records records;
      std::uint64_t before[window]; // this tile: those nearest to it first
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
    for (std::uint32_t i = mine.first, made = 0; i < mine.last; ++i)
      made += make_board(b, s, in, mine.fragment, i, columns, s.image + made);

    std::uint64_t bytes = mine.raw_bytes;
    for (std::uint32_t i = mine.first; i < mine.last; ++i) bytes += columns.boards.bytes[i];
    const std::uint64_t start = find_end(b, s, t, size_of(in, t, bytes, tiles), tiles) - bytes;
    if (start + bytes <= out.capacity) // else the event will be found to have no room
      write_boards(b, s.image, in, mine, columns, out.bytes + start);
  }

private:
  struct tile {
    fragment_entry fragment;
    std::uint32_t first; // board
    std::uint32_t last;  // behind it
    std::uint64_t raw_bytes;
  };

  L3_FN static tile tile_of(const batch_view& in, std::uint32_t t) {
    const fragment_entry f = in.fragments[t / tiles_per_fragment];
    const std::uint32_t part = t % tiles_per_fragment;
    const std::uint32_t from = part * boards; // behind `to` in a tile of none
    const std::uint32_t to = from + boards < f.boards ? from + boards : f.boards;
    return {f, f.first_board + from, f.first_board + to, f.raw != 0 && part == 0 ? f.bytes : 0};
  }

  /// Returns how many bytes were written to `image`; raw boards are copied later, from where they
  /// are.
  template <block B>
  L3_FN static std::uint32_t make_board(const B& b, shared& s, const batch_view& in,
                                        const fragment_entry& fragment, std::uint32_t i,
                                        const frame_columns& columns, std::byte* image) {
    const board_entry board = in.boards[i];
    if (measure_boards::can_be_decoded(board, fragment)) {
      s.packet.stage(b, in, fragment, board);
      b.sync();
      measure_boards::measure_staged(b, s.packet, s.measures, in, i, board, fragment, columns);
    } else {
      measure_boards::leave_raw(b, i, board, fragment, columns);
    }
    b.sync();
    if ((columns.boards.form[i] & board_raw) != 0) return 0;
    pack_boards::pack_staged(b, s.packet, s.records, i, board.kind, columns, image);
    return columns.boards.bytes[i];
  }

  /// Where the data of tile t ends, counted from the first byte of all, and tells it.
  template <block B>
  L3_FN static std::uint64_t find_end(const B& b, shared& s, std::uint32_t t, position_word mine,
                                      const tile_columns::view& tiles) {
    for_each(b, 1, [&](std::uint32_t) { publish(b, &tiles.position[t], mine.word()); });
    for (;;) {
      for_each(b, window, [&](std::uint32_t k) {
        s.before[k] = k < t ? observe(b, &tiles.position[t - 1 - k]) : position_word::at(0).word();
      });
      b.sync();
      std::uint32_t k = 0;
      while (k < window && position_word(s.before[k]).is_relative()) ++k;
      if (k < window && position_word(s.before[k]).is_absolute()) {
        std::uint64_t end = 0;
        for (std::uint32_t n = k + 1; n > 0; --n) end = position_word(s.before[n - 1]).end(end);
        end = mine.end(end);
        for_each(b, 1, [&](std::uint32_t) {
          publish(b, &tiles.position[t], position_word::at(end).word());
        });
        return end;
      }
      give_way(b);
      b.sync();
    }
  }

  /// With what stands before its data: the header and the tables of its event, and events that have
  /// no fragment.
  L3_FN static position_word size_of(const batch_view& in, std::uint32_t t, std::uint64_t bytes,
                                     const tile_columns::view& tiles) {
    const std::uint32_t e = tiles.event[t];
    const event_entry event = in.events[e];
    if (t != tiles_per_fragment * event.first_fragment)
      return position_word::after_previous(bytes, false);
    bytes += data_offset(event.fragments, event.boards);
    for (std::uint32_t k = e; k > 0 && in.events[k - 1].fragments == 0; --k)
      bytes += data_offset(0, 0);
    return position_word::after_previous(bytes, true);
  }

  /// What lies side by side in the image goes out at once.
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
struct one_pass {
  using columns = one_pass_columns;

  template <class Queue>
  static void run(Queue& queue, const batch_view& in, const columns& all, output_view out,
                  frame_summary* summary) {
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
