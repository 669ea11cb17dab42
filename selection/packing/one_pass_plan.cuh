// SPDX-License-Identifier: Apache-2.0
// The form of pack_tiles for CUDA devices. Eight warps of a CUDA block process one board of a tile
// each. A ninth, the tile's warp, takes the tickets, finds the data that the others need about a
// tile, and looks back for the places of the tiles.
//
// A block takes one tile per turn. Its board warps measure a tile, publish its length and pack it
// into images in shared memory; then they copy the tile that they packed two turns earlier to the
// output. Other blocks took the tiles before it at about the same time; when its place is needed
// they have nearly always published their lengths (decision 37).
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/cuda/moved_image.cuh"
#include "gpu/executors/cuda_form.hpp"

namespace l3 {

struct pack_tiles_by_warp {
  static constexpr std::uint32_t boards = pack_tiles::boards; // most boards of a tile
  static constexpr std::uint32_t width = (boards + 1) * warp::threads;
  static constexpr std::uint32_t resident = 4; // blocks per multiprocessor

  static constexpr bool takes_turns = true;

  static constexpr std::uint64_t no_room = ~std::uint64_t{0};

  /// The shared data of a block's warps about a tile.
  struct tile_in_hand {
    std::uint32_t is_there; ///< 0: there are no more tiles
    std::uint32_t number;
    std::uint32_t first;         ///< board
    std::uint32_t count;         ///< of boards
    std::uint64_t front;         ///< a position_word: the tile without its boards
    std::uint64_t start;         ///< begin of its boards in the output, or no_room
    std::uint32_t measured;      ///< measured boards × one_measured + their bytes
    std::uint32_t bytes[boards]; ///< lengths of the packed boards
    std::uint32_t forms[boards];
    found_packet packets[boards];

    static constexpr std::uint32_t one_measured = 1U << 24;
    [[nodiscard]] __device__ position_word size(std::uint32_t bytes_of_boards) const {
      return position_word(front).longer_by(bytes_of_boards);
    }
  };

  /// A tile is copied to the output this many turns after it was taken.
  static constexpr std::uint32_t lag = 2;
  /// The tiles from the next one to the one being copied, and one that may be overwritten while
  /// warps still read it.
  static constexpr std::uint32_t known_tiles = 8;
  static_assert(known_tiles >= lag + 3);

  struct shared {
    tile_in_hand tiles[known_tiles];
    warp::moved_image images[lag + 1][boards];
  };

  __device__ void operator()(const cuda_block& b, shared& s, const batch_view& in,
                             const frame_columns& columns, const tile_columns::view& tiles,
                             output_view out) const {
    const std::uint32_t w = threadIdx.x / warp::threads;
    const bool is_of_tile = w == boards;
    std::uint32_t ticket = 0; // of the next tile, in the first lane of the tile's warp
    if (is_of_tile) {
      take(b, tiles, ticket);
      find(b, in, columns, tiles, take(b, tiles, ticket), s.tiles[0]);
    } else {
      for (std::uint32_t k = 0; k <= lag; ++k) s.images[k][w].begin();
    }
    b.sync();
    std::uint32_t image = 0; // of the current tile
    for (std::uint32_t turn = 0, behind = 0; behind < lag; ++turn) {
      tile_in_hand& leaving = s.tiles[(turn - lag) % known_tiles];
      tile_in_hand& mine = s.tiles[turn % known_tiles];
      const bool leaves = turn >= lag;
      const bool is_there = behind == 0 && mine.is_there != 0;
      if (!is_there) ++behind;
      // The oldest image belongs to the tile that is copied out.
      const std::uint32_t oldest = image == lag ? 0 : image + 1;
      if (is_of_tile) {
        if (is_there)
          find(b, in, columns, tiles, take(b, tiles, ticket), s.tiles[(turn + 1) % known_tiles]);
        if (leaves) find_place(b, tiles, out.capacity, leaving);
      } else if (is_there && w < mine.count) {
        pack(b, in, columns, tiles, mine, s.images[image][w], w);
      }
      b.sync();
      if (!is_of_tile && leaves && w < leaving.count)
        copy_out(in, leaving, s.images[oldest][w], out.bytes, w);
      image = oldest;
    }
  }

private:
  /// Returns the ticket that the last call requested, and requests the next one without waiting for
  /// it. Called by the tile's warp, like the next two functions.
  __device__ static std::uint32_t take(const cuda_block& b, const tile_columns::view& tiles,
                                       std::uint32_t& ticket) {
    const std::uint32_t taken = warp::of_thread(ticket, 0);
    if (warp::thread() == 0) ticket = fetch_add_alone(b, tiles.ticket.data(), 1);
    return taken;
  }

  /// Finds the data that the block needs about a tile.
  __device__ static void find(const cuda_block& b, const batch_view& in,
                              const frame_columns& columns, const tile_columns::view& tiles,
                              std::uint32_t number, tile_in_hand& to) {
    const std::uint32_t t = warp::thread();
    const bool is_there = number < tiles_per_fragment * in.fragments.size();
    pack_tiles::tile tile{};
    std::uint64_t front = 0;
    if (is_there) {
      tile = pack_tiles::tile_of(in, number);
      front = tiles.front[number];
    }
    const std::uint32_t count = tile.first < tile.last ? tile.last - tile.first : 0;
    if (t < count) to.packets[t] = columns.packets[tile.first + t];
    if (t != 0) return;
    to.is_there = is_there ? 1 : 0;
    to.number = number;
    to.first = tile.first;
    to.count = count;
    if (!is_there) return;
    to.front = front;
    to.measured = 0;
    if (count == 0)
      publish(b, &tiles.position[number], front); // others need not wait for its place
  }

  /// Finds the begin of a tile that has published its length.
  __device__ static void find_place(const cuda_block& b, const tile_columns::view& tiles,
                                    std::uint64_t capacity, tile_in_hand& leaving) {
    const std::uint32_t bytes = leaving.measured % tile_in_hand::one_measured;
    const std::uint64_t end =
        find_end_by_warp(b, leaving.number, leaving.size(bytes), tiles.position);
    // place_events marks an event without room
    if (warp::thread() == 0) leaving.start = end > capacity ? no_room : end - bytes;
  }

  /// Packs a board to its image. The last warp of a tile to measure its board publishes the tile's
  /// length.
  __device__ static void pack(const cuda_block& b, const batch_view& in,
                              const frame_columns& columns, const tile_columns::view& tiles,
                              tile_in_hand& mine, warp::moved_image& image, std::uint32_t w) {
    const std::uint32_t t = warp::thread();
    const std::uint32_t i = mine.first + w;
    const found_packet packet = mine.packets[w];
    if (!packet.has_samples()) {
      const board_entry& board = in.boards[i];
      const board_shape shape = measure_boards::raw_shape(board, in.fragments[board.fragment]);
      if (t == 0) measure_boards::write_shape(i, shape, columns);
      return add_length(b, tiles, mine, shape, w);
    }
    const board_place place(in, packet, i);
    const warp::record_half half(packet.kind());
    warp::packed_samples samples;
    samples.load(place, half, packet.kind());
    warp::outer_words outer = warp::outer_words::load(place, packet);
    outer.compare();
    warp_findings found;
    samples.find_extremes(found.low, found.high);
    found.record = half.record;
    found.owns_record = half.half == 0;
    warp::conclude(found, 0, outer, packet.kind());
    add_length(b, tiles, mine, found.shape, w);
    warp::write_findings(found, i, columns);
    if ((found.shape.form & board_raw) != 0) return;
    warp::packed_record record;
    record.bits = found.own_bits;
    record.minimum = found.own_minimum & l2::payload_mask;
    record.find_place(half);
    warp::board_image& whole = image.board();
    const std::byte* const records = warp::put_outer_words(outer, found.shape.form, whole.bytes);
    image.finish(warp::put_all_records(samples, record, half, whole,
                                       static_cast<std::uint32_t>(records - whole.bytes)));
  }

  /// Adds the length of a measured board to its tile.
  __device__ static void add_length(const cuda_block& b, const tile_columns::view& tiles,
                                    tile_in_hand& mine, const board_shape& shape, std::uint32_t w) {
    constexpr std::uint32_t one = tile_in_hand::one_measured;
    if (warp::thread() != 0) return;
    mine.bytes[w] = shape.bytes;
    mine.forms[w] = shape.form;
    const std::uint32_t now =
        fetch_add_within(b, &mine.measured, one + shape.bytes) + one + shape.bytes;
    if (now / one == mine.count)
      publish(b, &tiles.position[mine.number], mine.size(now % one).word());
  }

  /// Copies a board to its place in the output.
  __device__ static void copy_out(const batch_view& in, const tile_in_hand& leaving,
                                  const warp::moved_image& image, std::byte* out, std::uint32_t w) {
    if (leaving.start == no_room) return;
    const std::uint32_t t = warp::thread();
    const std::uint32_t bytes = t <= w ? leaving.bytes[t] : 0;
    const std::uint32_t before = warp::sum(t < w ? bytes : 0);
    const std::uint32_t own = warp::of_thread(bytes, w);
    std::byte* const to = out + leaving.start + before;
    if ((leaving.forms[w] & board_raw) != 0) return warp::copy_raw(in, leaving.first + w, own, to);
    image.copy(own, to);
  }
};

template <>
struct cuda_form<pack_tiles> {
  using type = pack_tiles_by_warp;
};

} // namespace l3
