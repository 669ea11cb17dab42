// SPDX-License-Identifier: Apache-2.0
// The form of pack_boards for CUDA devices: a warp per board, which packs from registers
// (gpu/cuda/record_packing.cuh).
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/cuda/load_here.cuh"
#include "gpu/cuda/record_packing.cuh"
#include "gpu/executors/atomics.cuh"
#include "gpu/executors/cuda_form.hpp"

namespace l3 {

namespace warp {

/// Writes the header and footer words that the form stores to `to`. Returns the start of the
/// records.
__device__ inline std::byte* put_outer_words(const outer_words& outer, std::uint32_t form,
                                             std::byte* to) {
  constexpr std::uint32_t size = sizeof(std::uint32_t);
  constexpr std::uint32_t header = board_place::header;
  constexpr std::uint32_t footer = board_place::footer;
  if ((form & (board_header_stored | board_footer_stored)) == 0) return to;
  const std::uint32_t t = thread();
  const bool with_header = (form & board_header_stored) != 0;
  const bool with_footer = (form & board_footer_stored) != 0;
  if (t < header ? with_header : with_footer && t < header + footer) {
    std::byte* const word = to + size * (with_header ? t : t - header);
    for (std::uint32_t k = 0; k < size; ++k) word[k] = static_cast<std::byte>(outer.word >> 8 * k);
  }
  return to + (with_header ? size * header : 0) + (with_footer ? size * footer : 0);
}

/// Writes a board that can be decoded to `to`.
__device__ inline void pack_board(const packed_samples& samples, const packed_record& record,
                                  const record_half& mine, const outer_words& outer,
                                  std::uint32_t form, board_image& image, std::byte* to) {
  pack_records(samples, record, mine, image, put_outer_words(outer, form, to));
}

/// Copies the packet of a board that cannot be decoded to `to`.
__device__ inline void copy_raw(const batch_view& in, std::uint32_t i, std::uint32_t bytes,
                                std::byte* to) {
  const board_entry board = in.boards[i];
  const fragment_entry fragment = in.fragments[board.fragment];
  for (std::uint32_t k = thread(); k < bytes; k += threads)
    to[k] = *byte_of(in.input, in.pieces.data(), fragment, board.offset + k);
}

} // namespace warp

struct pack_boards_by_warp {
  static constexpr std::uint32_t width = 128;
  static constexpr std::uint32_t resident = 9;                   // blocks per multiprocessor
  static constexpr std::uint32_t boards = width / warp::threads; // boards per CUDA block

  struct shared {
    warp::board_image images[boards];
  };

  [[nodiscard]] static std::uint32_t blocks_for(std::uint32_t n) {
    return (n + boards - 1) / boards;
  }

  __device__ void operator()(const cuda_block& b, shared& s, const batch_view& in,
                             const frame_columns& columns, output_view out) const {
    const std::uint32_t w = threadIdx.x / warp::threads;
    const std::uint32_t i = blockIdx.x * boards + w;
    if (i >= in.boards.size()) return;
    const std::uint32_t at = load_here(&columns.boards.at[i]);
    const std::uint32_t form = load_here(&columns.boards.form[i]);
    const found_packet packet = load_here(&columns.packets[i]);
    if (at == not_packed) return;
    event_result& result = columns.events.results[packet.event];
    const bool kept = load_here(&result.kept); // a kept event may have no room
    std::uint64_t offset = observe(b, &result.offset);
    const board_place place(in, packet, i);
    warp::board_image& image = s.images[w];
    if ((form & (board_raw | board_limited)) != 0) {
      if (!kept) return;
      std::byte* const to = out.bytes + offset + at;
      const board_shape shape{form, columns.boards.bytes[i]};
      if ((form & board_raw) != 0) return warp::copy_raw(in, i, shape.bytes, to);
      return pack_limited(place, packet, columns, i, shape, image, to);
    }
    const warp::record_half mine(packet.kind());
    warp::packed_record record;
    record.bits = columns.records.bits[packet_lanes * i + mine.record];
    record.minimum = columns.records.minimum[packet_lanes * i + mine.record];
    warp::packed_samples samples;
    samples.load(place, mine, packet.kind());
    record.find_place(mine);
    warp::outer_words outer;
    if ((form & (board_header_stored | board_footer_stored)) != 0)
      outer = warp::outer_words::load(place, packet);
    asm volatile("" : "+l"(offset)); // nothing waits for it before the samples are loaded
    if (kept) warp::pack_board(samples, record, mine, outer, form, image, out.bytes + offset + at);
  }

  /// The device form of pack_boards::pack_limited.
  __device__ static void pack_limited(const board_place& place, const found_packet& packet,
                                      const frame_columns& columns, std::uint32_t i,
                                      const board_shape& shape, warp::board_image& image,
                                      std::byte* to) {
    const std::uint32_t kept = columns.boards.records[i];
    put_mask(kept, to);
    std::uint32_t end = shape.bytes;
    if ((shape.form & board_features) != 0) {
      end -= features_bytes(columns.boards.rows[i]);
      put_features(columns, i, to + end);
    }
    if (end == board_mask_bytes) return;
    const warp::outer_words outer = warp::outer_words::load(place, packet);
    to = warp::put_outer_words(outer, shape.form, to + board_mask_bytes);
    if (kept == 0) return;
    const warp::record_half mine(packet.kind());
    warp::packed_samples samples;
    samples.load(place, mine, packet.kind());
    warp::packed_record record;
    record.bits = columns.records.bits[packet_lanes * i + mine.record];
    record.minimum = columns.records.minimum[packet_lanes * i + mine.record];
    record.find_place(mine, kept);
    warp::pack_kept_records(samples, record, mine, (kept >> mine.record & 1) != 0, image, to);
  }

private:
  __device__ static void put_mask(std::uint32_t mask, std::byte* to) {
    if (warp::thread() < board_mask_bytes)
      to[warp::thread()] = static_cast<std::byte>(mask >> 8 * warp::thread());
  }

  __device__ static void put_features(const frame_columns& columns, std::uint32_t i,
                                      std::byte* to) {
    const std::uint32_t rows = columns.boards.rows[i];
    put_mask(rows, to);
    const std::uint32_t r = warp::thread();
    if (r >= packet_lanes || (rows >> r & 1) == 0) return;
    const std::uint32_t before = ones(rows & ((1U << r) - 1));
    store(to + board_mask_bytes + before * sizeof(packed_pulse),
          packed_row(columns.selected.pulses, packet_lanes * i + r));
  }
};

template <>
struct cuda_form<pack_boards> {
  using type = pack_boards_by_warp;
};

} // namespace l3
