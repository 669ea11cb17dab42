// SPDX-License-Identifier: Apache-2.0
// The form of deliver_events for CUDA devices: a warp takes an event's tables or a fragment. It
// shifts packed boards to their places while it writes them, in stores of 16 bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/cuda/warp.cuh"
#include "gpu/executors/cuda_form.hpp"

namespace l3 {

namespace warp {

/// A warp as a block of its own.
struct block {
  [[nodiscard]] __device__ static std::uint32_t index() { return 0; }
  [[nodiscard]] __device__ static std::uint32_t threads() { return warp::threads; }
  [[nodiscard]] __device__ static std::uint32_t lane() { return thread(); }
  __device__ static void sync() { warp::sync(); }
};

inline constexpr std::uint32_t chunk = 16; ///< bytes of the widest load and store

/// Copies `chunks` chunks from byte 4 · `skipped` + `shift` / 8 of `from` to `to`. Both addresses
/// are multiples of 16.
template <std::uint32_t skipped>
__device__ inline void copy_shifted(const std::byte* from, std::uint32_t shift, std::byte* to,
                                    std::uint32_t chunks) {
  const bool is_straight = skipped == 0 && shift == 0; // then there may be no next chunk
  const auto* low = reinterpret_cast<const uint4*>(from) + thread();
  const auto* high = low + (is_straight ? 0 : 1);
  auto* there = reinterpret_cast<uint4*>(to) + thread();
#pragma unroll 1
  for (std::uint32_t k = thread(); k < chunks; k += threads) {
    const uint4 a = *low;
    const uint4 b = *high;
    const std::uint32_t all[] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w};
    const auto word = [&](std::uint32_t n) {
      return __funnelshift_r(all[skipped + n], all[skipped + n + 1], shift);
    };
    *there = make_uint4(word(0), word(1), word(2), word(3));
    low += threads;
    high += threads;
    there += threads;
  }
}

/// Copies n bytes: whole chunks of the destination, and the bytes before and after them one by one.
__device__ inline void copy(const std::byte* from, std::byte* to, std::uint32_t n) {
  const auto place = [](const std::byte* p) {
    return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(p));
  };
  std::uint32_t head = (0 - place(to)) % chunk;
  head = head < n ? head : n;
  const std::uint32_t chunks = (n - head) / chunk;
  const std::uint32_t tail = (n - head) % chunk;
  const bool is_first_half = thread() < threads / 2; // the other half copies the tail
  const std::uint32_t edge = thread() + (is_first_half ? 0 : n - threads);
  const std::uint32_t from_end = is_first_half ? thread() : threads - 1 - thread();
  if (from_end < (is_first_half ? head : tail)) to[edge] = from[edge];
  from += head;
  to += head;
  const std::uint32_t beside = place(from) % chunk;
  from -= beside;
  const std::uint32_t shift = 8 * (beside % 4);
  switch (beside / 4) {
  case 0: return copy_shifted<0>(from, shift, to, chunks);
  case 1: return copy_shifted<1>(from, shift, to, chunks);
  case 2: return copy_shifted<2>(from, shift, to, chunks);
  default: return copy_shifted<3>(from, shift, to, chunks);
  }
}

/// The forms of copy_out and copy_range for a warp.
__device__ inline void copy_out(const block&, const std::byte* from, std::byte* to,
                                std::uint32_t n) {
  copy(from, to, n);
}
__device__ inline void copy_range(const block&, const batch_view& in,
                                  const fragment_entry& fragment, std::uint32_t offset,
                                  std::uint32_t bytes, std::byte* out) {
  for_each_run(
      in, fragment, offset, bytes,
      [&](const std::byte* p, std::uint32_t from, std::uint32_t n) { copy(p, out + from, n); });
}

} // namespace warp

struct deliver_events_by_warp {
  static constexpr std::uint32_t width = 512;
  static constexpr std::uint32_t warps = width / warp::threads;
  struct shared {};

  [[nodiscard]] static std::uint32_t blocks_for(std::uint32_t n) { return n; }

  __device__ void operator()(const cuda_block& b, shared&, const batch_view& in,
                             const frame_columns& columns, const output_view& out,
                             std::uint32_t blocks) const {
    deliver_events::copy_head(b, out, blocks);
    const std::uint32_t first = blocks * (threadIdx.x / warp::threads) + blockIdx.x;
    const std::uint32_t step = blocks * warps;
    for (std::uint32_t e = first; e < in.events.size(); e += step)
      pack_events::pack(warp::block(), e, in, columns, out);
    for (std::uint32_t k = first; k < in.fragments.size(); k += step) {
      std::byte* const to = deliver_events::place_of(k, in, columns, out);
      if (to != nullptr) copy_boards(in.fragments[k], in, columns, to);
    }
  }

private:
  /// The start of a board's packed data in its slot, shifted by 16 bits, plus their length; 0 if
  /// they are not in one piece there.
  [[nodiscard]] __device__ static std::uint32_t piece_of(std::uint32_t i,
                                                         const frame_columns& columns) {
    const std::uint32_t form = columns.boards.form[i];
    const std::uint32_t bytes = columns.boards.bytes[i];
    if ((form & board_raw) != 0 || deliver_events::words_apart(form) != 0) return 0;
    return deliver_events::start_in_slot(form, bytes) << 16 | bytes;
  }

  __device__ static void copy_boards(const fragment_entry& fragment, const batch_view& in,
                                     const frame_columns& columns, std::byte* to) {
    static_assert(l2::max_boards <= warp::threads);
    const std::uint32_t i = fragment.first_board;
    const std::uint32_t t = warp::thread();
    const std::uint32_t pieces = t < fragment.boards ? piece_of(i + t, columns) : 0;
    const std::byte* slot = columns.slot(i);
#pragma unroll 1
    for (std::uint32_t j = 0; j < fragment.boards; ++j) {
      const std::uint32_t piece = warp::of_thread(pieces, j);
      std::uint32_t bytes = piece & 0xffff;
      if (piece == 0)
        bytes = deliver_events::copy_board(warp::block(), i + j, in, columns, to);
      else
        warp::copy(slot + (piece >> 16), to, bytes);
      to += bytes;
      slot += board_slot_bytes;
    }
  }
};

template <>
struct cuda_form<deliver_events> {
  using type = deliver_events_by_warp;
};

} // namespace l3
