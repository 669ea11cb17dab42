// SPDX-License-Identifier: Apache-2.0
// The form of pack_tiles on CUDA devices: a CUDA block takes a tile, and each of its eight warps a
// board, whose samples stay in registers from measuring to packing. When all boards are measured
// the first warp looks back for the place of the tile; then the warps pack into an image at the
// offset modulo 16 that the tile has in the output.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/cuda/short_records.cuh"
#include "gpu/executors/cuda_form.hpp"

namespace l3 {

struct pack_tiles_by_warp {
  static constexpr std::uint32_t boards = pack_tiles::boards; // at most in a tile
  static constexpr std::uint32_t width = boards * warp::threads;
  // A board that cannot be decoded is as long as its packet.
  static constexpr std::uint32_t max_board_bytes =
      l2::board_bytes + 2 * (l2::max_compression_words + 1);
  static constexpr std::uint32_t chunks = boards * max_board_bytes / warp::chunk + 2;

  struct shared {
    warp::chunk_words image[chunks];
    look_back::shared ends;
    std::uint32_t bytes[boards];
    std::uint32_t ticket;
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
    board_entry board;
    warp_findings found;
    found.shape = {};
    warp::packed_samples samples;
    warp::outer_words outer;
    if (has_board) {
      board = in.boards[i];
      if (has_samples(board, tile.fragment)) {
        measure(in, tile.fragment, board, samples, outer, found);
        warp::write_findings(found, i, columns);
      } else {
        found.shape = measure_boards::raw_shape(board, tile.fragment);
        if (t == 0) measure_boards::write_shape(i, found.shape, columns);
      }
    }
    if (t == 0) s.bytes[w] = found.shape.bytes;
    b.sync();
    const std::uint32_t length = t < boards ? s.bytes[t] : 0;
    const std::uint32_t made = warp::sum(length);
    const std::uint32_t before = warp::sum(t < w ? length : 0);
    const std::uint32_t lengths = warp::union_of(length);
    const std::uint64_t bytes = tile.raw_bytes + made;
    position_word mine;
    if (w == 0) mine = pack_tiles::size_of(in, tile_number, bytes, tiles);
    const std::uint64_t start = find_end(b, s.ends, tile_number, mine, tiles.position) - bytes;
    if (start + bytes > out.capacity) return; // place_events marks the event as having no room
    std::byte* const to = out.bytes + start;
    const auto first =
        static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(to) % warp::chunk);
    // Else boards share words.
    const bool begin_at_words = (lengths | first) % sizeof(std::uint32_t) == 0;
    if (!begin_at_words) {
      warp::clear_image(s.image, first + made, threadIdx.x, width);
      b.sync();
    }
    if (has_board) {
      const warp::image_bytes image(s.image, first + before);
      if ((found.shape.form & board_raw) != 0) {
        if (begin_at_words) warp::clear_words(image, found.shape.bytes);
        put_raw(in, tile.fragment, board, image);
      } else {
        pack(samples, outer, found, board.kind, image, begin_at_words);
      }
    }
    b.sync();
    warp::copy_image<width>(s.image, first, made, to, threadIdx.x);
  }

private:
  __device__ static void measure(const batch_view& in, const fragment_entry& fragment,
                                 const board_entry& board, warp::packed_samples& samples,
                                 warp::outer_words& outer, warp_findings& found) {
    const board_place place(in, fragment, board.offset);
    samples.load(place, in, fragment, board.kind);
    outer = warp::outer_words::load(place, in, fragment);
    outer.compare(in.events[board.event], board.slot);
    samples.find_extremes(found.low, found.high);
    constexpr std::uint32_t apart = 8; // threads with the same records
    const std::uint32_t t = warp::thread();
    const std::uint32_t which = t / apart % 2;
    const warp::record_pair pair(board.kind);
    found.record = which == 0 ? pair.first : pair.second;
    found.owns_record = t < packet_lanes;
    warp::conclude(found, apart, which, outer, board.kind);
  }

  /// Packs a board into the image.
  __device__ static void pack(const warp::packed_samples& samples, const warp::outer_words& outer,
                              const warp_findings& found, board_kind kind,
                              const warp::image_bytes& image, bool begins_at_word) {
    const std::uint32_t lowest = found.low & l2::payload_mask * pairs::both;
    const std::uint32_t ranges = found.high - found.low; // both at once: no half borrows
    const warp::record_pair number(kind);
    warp::packed_pair mine;
    mine.first.bits = warp::bits_needed(ranges & 0xffff);
    mine.second.bits = warp::bits_needed(ranges >> 16);
    mine.first.minimum = lowest & 0xffff;
    mine.second.minimum = lowest >> 16;
    mine.find_places(number, kind);
    const bool has_outer = (found.shape.form & (board_header_stored | board_footer_stored)) != 0;
    if (begins_at_word && !has_outer && warp::can_be_short(mine)) {
      warp::pack_short_records(samples, mine, kind, image);
      return;
    }
    if (begins_at_word) warp::clear_words(image, found.shape.bytes);
    const warp::image_bytes records = warp::put_outer_words(outer, found.shape.form, image);
    warp::pack_records(samples, mine, records, number);
  }

  /// Merges a board into the image as it is.
  __device__ static void put_raw(const batch_view& in, const fragment_entry& fragment,
                                 const board_entry& board, const warp::image_bytes& image) {
    for (std::uint32_t k = warp::thread(); k < packet_bytes(board, fragment); k += warp::threads) {
      const std::byte here = *byte_of(in.input, in.pieces.data(), fragment, board.offset + k);
      image.put(k, static_cast<std::uint32_t>(here));
    }
  }
};

template <>
struct cuda_form<pack_tiles> {
  using type = pack_tiles_by_warp;
};

} // namespace l3
