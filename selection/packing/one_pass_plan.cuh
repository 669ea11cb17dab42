// SPDX-License-Identifier: Apache-2.0
// The form of pack_tiles on CUDA devices: a CUDA block takes a tile, and each of its eight warps a
// board, whose samples stay in registers from measuring to packing. When all boards are measured
// the first warp looks back for the place of the tile; then each warp packs its board.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/executors/cuda_form.hpp"

namespace l3 {

struct pack_tiles_by_warp {
  static constexpr std::uint32_t boards = pack_tiles::boards; // at most in a tile
  static constexpr std::uint32_t width = boards * warp::threads;
  static constexpr std::uint32_t resident = 4; // blocks of a multiprocessor

  static constexpr std::uint64_t no_room = ~std::uint64_t{0};

  struct shared {
    std::uint32_t ticket;
    /// The lengths of the boards, then where the tile starts in the output, lower and upper half.
    std::uint32_t words[boards + 2];
    warp::board_image images[boards];
  };

  __device__ void operator()(const cuda_block& b, shared& s, const batch_view& in,
                             const frame_columns& columns, const tile_columns::view& tiles,
                             output_view out) const {
    if (threadIdx.x == 0) s.ticket = fetch_add(b, tiles.ticket.data(), 1);
    b.sync();
    const std::uint32_t tile_number = s.ticket;
    const pack_tiles::tile tile = pack_tiles::tile_of(in, tile_number);
    const std::uint32_t w = threadIdx.x / warp::threads;
    const std::uint32_t t = warp::thread();
    const std::uint32_t i = tile.first + w;
    const bool has_board = i < tile.last;
    found_packet packet;
    warp_findings found;
    found.shape = {};
    warp::packed_samples samples;
    warp::outer_words outer;
    if (has_board) {
      packet = columns.packets[i];
      if (packet.has_samples()) {
        measure(in, i, packet, samples, outer, found);
        warp::write_findings(found, i, columns);
      } else {
        found.shape = measure_boards::raw_shape(in.boards[i], tile.fragment);
        if (t == 0) measure_boards::write_shape(i, found.shape, columns);
      }
    }
    if (t == 0) s.words[w] = found.shape.bytes;
    b.sync();
    if (w == 0) {
      const std::uint64_t bytes = pack_tiles::raw_bytes(tile.fragment, tile_number) +
                                  warp::sum(t < boards ? s.words[t] : 0);
      const position_word size = pack_tiles::size_of(in, tile_number, bytes, tiles);
      const std::uint64_t end = find_end_by_warp(b, tile_number, size, tiles.position);
      if (t == 0) { // place_events marks an event that has no room
        const std::uint64_t start = end > out.capacity ? no_room : end - bytes;
        s.words[boards] = static_cast<std::uint32_t>(start);
        s.words[boards + 1] = static_cast<std::uint32_t>(start >> 32);
      }
    }
    b.sync();
    // One access brings all that the warp must know: a word for each thread.
    const std::uint32_t word = t < boards + 2 ? s.words[t] : 0;
    const std::uint32_t before = warp::sum(t < w ? word : 0);
    const std::uint64_t start =
        warp::of_thread(word, boards) | std::uint64_t{warp::of_thread(word, boards + 1)} << 32;
    if (start == no_room || !has_board) return;
    std::byte* const to = out.bytes + start + before;
    const std::uint32_t form = found.shape.form;
    if ((form & board_raw) != 0) return warp::copy_raw(in, i, found.shape.bytes, to);
    const warp::record_half mine(packet.kind());
    warp::packed_record record;
    record.bits = found.own_bits;
    record.minimum = found.own_minimum & l2::payload_mask;
    record.find_place(mine);
    warp::pack_board(samples, record, mine, outer, form, s.images[w], to);
  }

private:
  __device__ static void measure(const batch_view& in, std::uint32_t i, const found_packet& packet,
                                 warp::packed_samples& samples, warp::outer_words& outer,
                                 warp_findings& found) {
    const board_place place(in, packet, i);
    const warp::record_half mine(packet.kind());
    samples.load(place, mine, packet.kind());
    outer = warp::outer_words::load(place, packet);
    outer.compare();
    samples.find_extremes(found.low, found.high);
    found.record = mine.record;
    found.owns_record = mine.half == 0;
    warp::conclude(found, 0, outer, packet.kind());
  }
};

template <>
struct cuda_form<pack_tiles> {
  using type = pack_tiles_by_warp;
};

} // namespace l3
