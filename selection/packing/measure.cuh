// SPDX-License-Identifier: Apache-2.0
// The form of measure_boards for CUDA devices: a warp per board and no shared memory. Each thread
// loads 16 words of two samples and keeps the lowest and highest of each half; two exchanges
// complete them. The other device forms of packing use the same steps.
#pragma once

#include <cstdint>

#include "gpu/cuda/board_place.cuh"
#include "gpu/cuda/sample_pairs.cuh"
#include "gpu/cuda/warp.cuh"
#include "gpu/executors/cuda_form.hpp"

namespace l3 {

/// A warp's findings about a packet, in the order in which it finds them.
struct warp_findings {
  std::uint32_t record;      ///< the record whose results this thread writes
  bool owns_record;          ///< false in the second of two threads with one record
  std::uint32_t low;         ///< lowest samples with their tags, of one record or two
  std::uint32_t high;        ///< highest samples
  std::uint32_t own_minimum; ///< of `record`, with its tag
  std::uint32_t own_maximum; ///< likewise
  std::uint32_t own_bits;    ///< N
  board_shape shape;         ///< of the board
};

namespace warp {

inline constexpr std::uint32_t words_of_thread = board_place::samples / threads;

/// Completes the extremes over the threads with the same records, whose numbers differ only in the
/// two bits `apart`.
__device__ inline void complete(warp_findings& f, std::uint32_t apart) {
#pragma unroll
  for (std::uint32_t step = 1; step <= 2; ++step) {
    const std::uint32_t bits = step * apart;
    f.low = pairs::lowest(f.low, across(f.low, bits));
    f.high = pairs::highest(f.high, across(f.high, bits));
  }
}

/// Finds minimum, maximum and N after the extremes are complete. `which`: the half of them that is
/// the record's.
__device__ inline void conclude_record(warp_findings& f, std::uint32_t which) {
  f.own_minimum = pairs::half(f.low, which);
  f.own_maximum = pairs::half(f.high, which);
  f.own_bits = bits_needed(f.own_maximum - f.own_minimum);
}

/// The form of a board whose samples have the right tags.
[[nodiscard]] __device__ inline std::uint32_t form_of(const found_packet& packet) {
  return measure_boards::kind_form(packet.kind()) | packet.outer;
}

/// Finds the rest after the extremes are complete.
__device__ inline void conclude(warp_findings& f, std::uint32_t which, const found_packet& packet) {
  conclude_record(f, which);
  const std::uint32_t form = form_of(packet);
  f.shape = {measure_boards::kind_form(packet.kind()) | board_raw, l2::board_bytes};
  if (any(pairs::wrong(f.low, f.high))) return;
  f.shape.form = form;
  f.shape.bytes = stored_words_bytes(form) + packet_lanes * koto::record_bytes(0) +
                  koto::octets * sum(f.owns_record ? f.own_bits : 0);
}

/// Writes what measuring found to its columns.
__device__ inline void write_findings(const warp_findings& f, std::uint32_t i,
                                      const frame_columns& out) {
  if (thread() == 0) measure_boards::write_shape(i, f.shape, out);
  if (!f.owns_record || (f.shape.form & board_raw) != 0) return;
  const std::uint32_t record = l2::waveforms_per_board * i + f.record;
  out.records.minimum[record] = static_cast<std::uint16_t>(f.own_minimum & l2::payload_mask);
  out.records.bits[record] = static_cast<std::uint8_t>(f.own_bits);
}

/// Writes the shape of a packet that cannot be decoded.
__device__ inline void write_raw(std::uint32_t i, board_kind kind, std::uint32_t bytes,
                                 const frame_columns& out) {
  const board_shape shape{measure_boards::kind_form(kind) | board_raw, bytes};
  if (thread() == 0) measure_boards::write_shape(i, shape, out);
}

} // namespace warp

struct measure_boards_by_warp {
  static constexpr std::uint32_t width = 128;
  static constexpr std::uint32_t resident = 10;                  // blocks per multiprocessor
  static constexpr std::uint32_t boards = width / warp::threads; // boards per CUDA block
  struct shared {};

  [[nodiscard]] static std::uint32_t blocks_for(std::uint32_t n) {
    return (n + boards - 1) / boards;
  }

  __device__ void operator()(const cuda_block&, shared&, const batch_view& in,
                             const frame_columns& out) const {
    const std::uint32_t i = blockIdx.x * boards + threadIdx.x / warp::threads;
    if (i >= in.boards.size()) return;
    const found_packet packet = out.packets[i];
    if (!packet.has_samples()) return warp::write_raw(i, packet.kind(), packet.first_bytes, out);
    const board_place place(in, packet, i);
    const std::uint32_t t = warp::thread();
    warp_findings f;
    std::uint32_t words[warp::words_of_thread];
    std::uint32_t apart = 0;
    std::uint32_t which = 0;
    if (packet.kind() == board_kind::sampling_125_mhz) {
      // A row has eight words: the thread has pair t % 8 of every fourth row.
      place.load_samples<warp::threads>(t, words);
      apart = 8;
      which = t / 8 % 2;
      f.record = t % 8 * 2 + which;
      f.owns_record = t < 16;
    } else {
      // A row has two words. Each quarter of the waveforms has eight threads: 8 j … 8 j + 7.
      constexpr std::uint32_t quarter = board_place::samples / 4;
      place.load_samples<8>(quarter * (t / 8) + t % 8, words);
      apart = 2;
      which = t / 2 % 2;
      f.record = 4 * (t % 2 * 2 + which) + t / 8;
      f.owns_record = (t & 4) == 0;
    }
    f.low = f.high = pairs::swapped(words[0]);
#pragma unroll
    for (std::uint32_t k = 1; k < warp::words_of_thread; ++k) {
      const std::uint32_t pair = pairs::swapped(words[k]);
      f.low = pairs::lowest(f.low, pair);
      f.high = pairs::highest(f.high, pair);
    }
    warp::complete(f, apart);
    warp::conclude(f, which, packet);
    warp::write_findings(f, i, out);
  }
};

template <>
struct cuda_form<measure_boards> {
  using type = measure_boards_by_warp;
};

} // namespace l3
