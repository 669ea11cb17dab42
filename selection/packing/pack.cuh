// SPDX-License-Identifier: Apache-2.0
// The form of pack_boards on CUDA devices: a warp for each board, which packs from registers
// (gpu/cuda/record_packing.cuh).
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/cuda/short_records.cuh"
#include "gpu/executors/cuda_form.hpp"

namespace l3 {

namespace warp {

/// Merges the header and footer words that the form stores into an image. Returns the image behind
/// them.
__device__ inline image_bytes put_outer_words(const outer_words& outer, std::uint32_t form,
                                              const image_bytes& image) {
  constexpr std::uint32_t size = sizeof(std::uint32_t);
  constexpr std::uint32_t header = board_place::header;
  constexpr std::uint32_t footer = board_place::footer;
  if ((form & (board_header_stored | board_footer_stored)) == 0) return image;
  const std::uint32_t t = thread();
  const bool with_header = (form & board_header_stored) != 0;
  const bool with_footer = (form & board_footer_stored) != 0;
  if (t < header ? with_header : with_footer && t < header + footer)
    image.put(size * (with_header ? t : t - header), outer.word);
  return image.from((with_header ? size * header : 0) + (with_footer ? size * footer : 0));
}

} // namespace warp

struct pack_boards_by_warp {
  static constexpr std::uint32_t width = 128;
  static constexpr std::uint32_t boards = width / warp::threads; // of a CUDA block
  static constexpr std::uint32_t sample_bits = 14;
  static constexpr std::uint32_t max_board_bytes =
      2 * pack_boards::head_words + packet_lanes * koto::record_bytes(sample_bits);
  static constexpr std::uint32_t chunks = max_board_bytes / warp::chunk + 2;

  struct shared {
    warp::chunk_words image[boards][chunks];
  };

  [[nodiscard]] static std::uint32_t blocks_for(std::uint32_t n) {
    return (n + boards - 1) / boards;
  }

  __device__ void operator()(const cuda_block&, shared& s, const batch_view& in,
                             const frame_columns& columns, output_view out) const {
    const std::uint32_t i = blockIdx.x * boards + threadIdx.x / warp::threads;
    if (i >= in.boards.size()) return;
    const board_entry board = in.boards[i];
    const event_result& result = columns.events.results[board.event];
    if (!result.kept) return;
    const fragment_entry fragment = in.fragments[board.fragment];
    std::byte* const to = out.bytes + result.offset + columns.boards.at[i];
    const std::uint32_t form = columns.boards.form[i];
    const std::uint32_t bytes = columns.boards.bytes[i];
    const std::uint32_t t = warp::thread();
    if ((form & board_raw) != 0) {
      for (std::uint32_t k = t; k < bytes; k += warp::threads)
        to[k] = *byte_of(in.input, in.pieces.data(), fragment, board.offset + k);
      return;
    }
    const board_place place(in, fragment, board.offset);
    warp::chunk_words* const image = s.image[threadIdx.x / warp::threads];
    const auto first =
        static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(to) % warp::chunk);
    if ((form & board_limited) != 0) {
      warp::clear_image(image, first + bytes, t, warp::threads);
      warp::sync();
      put_limited(place, in, fragment, columns, i, form, bytes, warp::image_bytes(image, first));
      warp::sync();
      warp::copy_image<warp::threads>(image, first, bytes, to, t);
      return;
    }
    warp::packed_samples samples;
    samples.load(place, in, fragment, board.kind);
    const warp::record_pair number(board.kind);
    warp::packed_pair mine;
    mine.first.bits = columns.records.bits[packet_lanes * i + number.first];
    mine.second.bits = columns.records.bits[packet_lanes * i + number.second];
    mine.first.minimum = columns.records.minimum[packet_lanes * i + number.first];
    mine.second.minimum = columns.records.minimum[packet_lanes * i + number.second];
    mine.find_places(number, board.kind);
    const warp::image_bytes to_pack(image, first);
    const bool has_outer = (form & (board_header_stored | board_footer_stored)) != 0;
    if (!has_outer && to_pack.begins_at_word() && warp::can_be_short(mine)) {
      warp::pack_short_records(samples, mine, board.kind, to_pack);
    } else {
      warp::clear_image(image, first + bytes, t, warp::threads);
      warp::sync();
      warp::outer_words outer;
      if (has_outer) outer = warp::outer_words::load(place, in, fragment);
      const auto records = warp::put_outer_words(outer, form, to_pack);
      warp::pack_records(samples, mine, records, number);
    }
    warp::sync();
    warp::copy_image<warp::threads>(image, first, bytes, to, t);
  }

private:
  /// What pack_boards::pack_limited writes, into an image of zeros.
  __device__ static void put_limited(const board_place& place, const batch_view& in,
                                     const fragment_entry& fragment, const frame_columns& columns,
                                     std::uint32_t i, std::uint32_t form, std::uint32_t bytes,
                                     const warp::image_bytes& image) {
    const std::uint32_t kept = columns.boards.records[i];
    if (warp::thread() == 0) image.put(0, kept);
    std::uint32_t end = bytes;
    if ((form & board_features) != 0) {
      end -= features_bytes(columns.boards.rows[i]);
      put_features(columns, i, image.from(end));
    }
    if (end == board_mask_bytes) return;
    const warp::outer_words outer = warp::outer_words::load(place, in, fragment);
    const auto records = warp::put_outer_words(outer, form, image.from(board_mask_bytes));
    if (kept == 0) return;
    const board_kind kind = in.boards[i].kind;
    warp::packed_samples samples;
    samples.load(place, in, fragment, kind);
    std::uint32_t bits[4];
#pragma unroll
    for (std::uint32_t k = 0; k < 4; ++k)
      bits[k] = load<std::uint32_t>(
          aligned<4>(reinterpret_cast<const std::byte*>(&columns.records.bits[packet_lanes * i])) +
          4 * k);
    const warp::record_pair number(kind);
    const auto record = [&](std::uint32_t r) {
      return warp::packed_record{columns.records.bits[packet_lanes * i + r],
                                 columns.records.minimum[packet_lanes * i + r],
                                 warp::place_among(kept, r, bits)};
    };
    warp::pack_records(samples, {record(number.first), record(number.second)}, records, number,
                       kept);
  }

  __device__ static void put_features(const frame_columns& columns, std::uint32_t i,
                                      const warp::image_bytes& image) {
    const std::uint32_t rows = columns.boards.rows[i];
    const std::uint32_t r = warp::thread();
    if (r == 0) image.put(0, rows);
    if (r >= packet_lanes || (rows >> r & 1) == 0) return;
    const packed_pulse p = packed_row(columns.selected.pulses, packet_lanes * i + r);
    const std::uint32_t before = count_of(rows & ((1U << r) - 1));
    image.put(board_mask_bytes + before * static_cast<std::uint32_t>(sizeof p),
              {p.pedestal | std::uint32_t{p.peak} << 16,
               p.time | std::uint32_t{p.peak_sample} << 16 | std::uint32_t{p.flags} << 24,
               static_cast<std::uint32_t>(p.sum), 0},
              sizeof p);
  }
};

template <>
struct cuda_form<pack_boards> {
  using type = pack_boards_by_warp;
};

} // namespace l3
