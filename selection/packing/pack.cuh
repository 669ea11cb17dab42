// SPDX-License-Identifier: Apache-2.0
// The forms of pack_boards and measure_and_pack_boards for CUDA devices: a warp per board, which
// packs from registers (gpu/cuda/record_packing.cuh) to the board's slot.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/cuda/load_here.cuh"
#include "gpu/cuda/record_packing.cuh"
#include "gpu/executors/cuda_form.hpp"
#include "selection/packing/measure.hpp"

namespace l3 {

namespace warp {

/// Writes the header and footer words that the form stores to `to`.
__device__ inline void put_outer_words(const board_place& place, std::uint32_t form,
                                       std::byte* to) {
  constexpr std::uint32_t size = sizeof(std::uint32_t);
  constexpr std::uint32_t header = board_place::header;
  constexpr std::uint32_t footer = board_place::footer;
  const std::uint32_t t = thread();
  const bool with_header = (form & board_header_stored) != 0;
  const bool with_footer = (form & board_footer_stored) != 0;
  if (t < header ? with_header : with_footer && t < header + footer) {
    std::byte* const there = to + size * (with_header ? t : t - header);
    const std::uint32_t word = place.load(t < header ? t : board_place::samples + t);
    for (std::uint32_t k = 0; k < size; ++k) there[k] = static_cast<std::byte>(word >> 8 * k);
  }
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

  __device__ void operator()(const cuda_block&, shared& s, const batch_view& in,
                             const frame_columns& columns, const output_view&) const {
    const std::uint32_t w = threadIdx.x / warp::threads;
    const std::uint32_t i = blockIdx.x * boards + w;
    if (i >= in.boards.size()) return;
    const std::uint32_t form = load_here(&columns.boards.form[i]);
    const found_packet packet = load_here(&columns.packets[i]);
    if ((form & (board_raw | board_strong)) != 0) return; // nothing to pack
    if (columns.events.accepted[packet.event] == 0) return;
    const board_place place(in, packet, i);
    warp::board_image& image = s.images[w];
    if ((form & board_limited) != 0)
      return pack_limited(place, packet, columns, i, {form, columns.boards.bytes[i]}, image);
    const warp::record_half mine(packet.kind());
    warp::packed_record record;
    record.bits = columns.records.bits[packet_lanes * i + mine.record];
    record.minimum = columns.records.minimum[packet_lanes * i + mine.record];
    warp::packed_samples samples;
    samples.load(place, mine, packet.kind());
    if (stored_words_bytes(form) != 0) warp::put_outer_words(place, form, columns.packed(i, form));
    const warp::place_in_image at(record, mine, true, image);
    warp::pack_records(samples, record, mine, at, image, columns.slot(i) + records_in_slot);
  }

private:
  /// The device form of pack_boards::pack_limited.
  __device__ static void pack_limited(const board_place& place, const found_packet& packet,
                                      const frame_columns& columns, std::uint32_t i,
                                      const board_shape& shape, warp::board_image& image) {
    std::byte* const to = columns.packed(i, shape.form);
    const std::uint32_t kept = columns.boards.records[i];
    put_mask(kept, to);
    const bool with_features = (shape.form & board_features) != 0;
    const std::uint32_t end =
        shape.bytes - (with_features ? features_bytes(columns.boards.rows[i]) : 0);
    if (stored_words_bytes(shape.form) != 0)
      warp::put_outer_words(place, shape.form, to + board_mask_bytes);
    if (kept != 0) {
      const warp::record_half mine(packet.kind());
      warp::packed_samples samples;
      samples.load(place, mine, packet.kind());
      warp::packed_record record;
      record.bits = columns.records.bits[packet_lanes * i + mine.record];
      record.minimum = columns.records.minimum[packet_lanes * i + mine.record];
      warp::pack_kept_records(samples, record, mine, (kept >> mine.record & 1) != 0, image,
                              columns.slot(i) + records_in_slot);
      warp::sync(); // the last piece of the records may overlap what follows
    }
    if (with_features) put_features(columns, i, to + end);
  }

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

struct measure_and_pack_boards_by_warp : pack_boards_by_warp {
  __device__ void operator()(const cuda_block&, shared& s, const batch_view& in,
                             const frame_columns& columns) const {
    const std::uint32_t w = threadIdx.x / warp::threads;
    const std::uint32_t i = blockIdx.x * boards + w;
    if (i >= in.boards.size()) return;
    const found_packet packet = columns.packets[i];
    if (!packet.has_samples())
      return warp::write_raw(i, packet.kind(), packet.first_bytes, columns);
    const board_place place(in, packet, i);
    const warp::record_half mine(packet.kind());
    warp::packed_samples samples;
    samples.load(place, mine, packet.kind());
    std::uint32_t low = 0;
    std::uint32_t high = 0;
    samples.find_extremes(low, high);
    if (warp::any(pairs::wrong(low, high)))
      return warp::write_raw(i, packet.kind(), l2::board_bytes, columns);
    const std::uint32_t form = warp::form_of(packet);
    warp::packed_record record;
    record.bits = warp::bits_needed((high - low) & l2::payload_mask); // both halves are equal
    record.minimum = low & l2::payload_mask;
    const warp::place_in_image at(record, mine, true, s.images[w]);
    std::uint32_t before = 0;
    if ((form & (board_header_stored | board_footer_stored)) != 0) { // seldom
      before = stored_words_bytes(form);
      warp::put_outer_words(place, form, columns.packed(i, form));
    }
    if (warp::thread() == 0) measure_boards::write_shape(i, {form, before + at.end}, columns);
    warp::pack_records(samples, record, mine, at, s.images[w], columns.slot(i) + records_in_slot);
  }
};

template <>
struct cuda_form<pack_boards> {
  using type = pack_boards_by_warp;
};
template <>
struct cuda_form<measure_and_pack_boards> {
  using type = measure_and_pack_boards_by_warp;
};

} // namespace l3
