// SPDX-License-Identifier: Apache-2.0
// The form of deliver_events for CUDA devices: a warp takes a fragment. It shifts the packed boards
// to their places while it writes them, in stores of 16 bytes. Where two boards meet within 16
// bytes, the warp keeps the bytes of the first board until it has those of the second.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/cuda/warp.cuh"
#include "gpu/executors/cuda_form.hpp"

namespace l3 {

namespace warp {

/// 16 bytes, the lowest first.
struct chunk {
  static constexpr std::uint32_t bytes = 16;
  static constexpr std::uint32_t words = bytes / sizeof(std::uint32_t);

  std::uint32_t word[words];

  [[nodiscard]] __device__ static chunk load(const std::byte* from) {
    const uint4 v = *reinterpret_cast<const uint4*>(from);
    return {v.x, v.y, v.z, v.w};
  }
  __device__ void store(std::byte* to) const {
    *reinterpret_cast<uint4*>(to) = make_uint4(word[0], word[1], word[2], word[3]);
  }
  /// The bytes below `n` become 0 if `below`, all others if not.
  __device__ void clear(std::uint32_t n, bool below) {
#pragma unroll
    for (std::uint32_t w = 0; w < words; ++w) {
      const std::int32_t bits =
          8 * (static_cast<std::int32_t>(n) - static_cast<std::int32_t>(4 * w));
      const std::uint32_t mask = bits <= 0 ? 0 : bits >= 32 ? everyone : (1U << bits) - 1;
      word[w] &= below ? ~mask : mask;
    }
  }
  __device__ void add(const chunk& other) {
#pragma unroll
    for (std::uint32_t w = 0; w < words; ++w) word[w] |= other.word[w];
  }
};

/// The 16 bytes from byte `shift` of `low` on, followed by `high`. All threads have the same shift.
[[nodiscard]] __device__ inline chunk shifted(const chunk& low, const chunk& high,
                                              std::uint32_t shift) {
  const std::uint32_t all[2 * chunk::words] = {low.word[0],  low.word[1],  low.word[2],
                                               low.word[3],  high.word[0], high.word[1],
                                               high.word[2], high.word[3]};
  const auto from = [&](std::uint32_t first) {
    chunk made;
#pragma unroll
    for (std::uint32_t w = 0; w < chunk::words; ++w)
      made.word[w] = __funnelshift_r(all[first + w], all[first + w + 1], 8 * shift);
    return made;
  };
  switch (shift / sizeof(std::uint32_t)) {
  case 0: return from(0);
  case 1: return from(1);
  case 2: return from(2);
  default: return from(3);
  }
}

/// Appends runs of bytes to an output at any address.
class chunk_writer {
public:
  __device__ explicit chunk_writer(std::byte* to)
      : fill_(static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(to) % chunk::bytes)),
        first_(fill_), to_(to - fill_), open_{} {}

  /// Appends n bytes.
  __device__ void append(const std::byte* from, std::uint32_t n) {
    if (n == 0) return;
    const auto beside =
        static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(from) % chunk::bytes);
    const std::byte* const base = from - beside;
    const std::uint32_t last = (beside + n - 1) / chunk::bytes;
    const std::uint32_t end = fill_ + n;
    const std::uint32_t whole = end / chunk::bytes;
    const std::uint32_t back = fill_ > beside ? 1 : 0; // chunk k has bytes of k - back and the next
    const std::uint32_t shift = (chunk::bytes + beside - fill_) % chunk::bytes;
    chunk made{};
    for (std::uint32_t round = 0; round <= whole; round += threads) {
      const std::uint32_t k = round + thread();
      const std::uint32_t source = k - back; // below 0 in the first chunk: more than last
      chunk low{};
      chunk high{};
      if (source <= last) low = chunk::load(base + chunk::bytes * source);
      if (source + 1 <= last) high = chunk::load(base + chunk::bytes * (source + 1));
      made = shifted(low, high, shift);
      if (k == 0) {
        if (beside != 0) made.clear(fill_, true);
        made.add(open_);
      }
      if (k == whole) made.clear(end % chunk::bytes, false);
      const bool is_shared = round == 0 && first_ != 0 && whole != 0;
      if (is_shared) put(of_thread(made, 0), first_, chunk::bytes);
      if (k < whole && !(is_shared && k == 0)) made.store(to_ + chunk::bytes * k);
      if (whole < round + threads) open_ = of_thread(made, whole - round);
    }
    if (whole != 0) first_ = 0;
    to_ += chunk::bytes * whole;
    fill_ = end % chunk::bytes;
  }

  /// Writes the bytes that do not fill a chunk.
  __device__ void finish() const { put(open_, first_, fill_); }

private:
  /// The chunk of this thread.
  [[nodiscard]] __device__ static chunk of_thread(const chunk& own, std::uint32_t from) {
    chunk c;
#pragma unroll
    for (std::uint32_t w = 0; w < chunk::words; ++w) c.word[w] = warp::of_thread(own.word[w], from);
    return c;
  }

  /// Writes bytes begin … end - 1 of the current chunk, whose others are not this writer's. All
  /// threads have the same chunk.
  __device__ void put(const chunk& from, std::uint32_t begin, std::uint32_t end) const {
    const std::uint32_t n = thread();
    const std::uint32_t word =
        n < 8 ? (n < 4 ? from.word[0] : from.word[1]) : (n < 12 ? from.word[2] : from.word[3]);
    if (n >= begin && n < end) to_[n] = static_cast<std::byte>(word >> 8 * (n % 4));
  }

  std::uint32_t fill_;  ///< bytes of the current chunk so far
  std::uint32_t first_; ///< its first byte that is this writer's
  std::byte* to_;       ///< the current chunk
  chunk open_;          ///< its bytes so far, the others 0
};

} // namespace warp

struct deliver_events_by_warp {
  static constexpr std::uint32_t width = 512;
  static constexpr std::uint32_t warps = width / warp::threads;
  struct shared {};

  [[nodiscard]] static std::uint32_t blocks_for(std::uint32_t n) { return n; }

  __device__ void operator()(const cuda_block& b, shared&, const batch_view& in,
                             const frame_columns& columns, const output_view& out,
                             std::uint32_t blocks) const {
    for (std::uint32_t e = blockIdx.x; e < in.events.size(); e += blocks)
      pack_events::pack(b, e, in, columns, out);
    const std::uint32_t w = threadIdx.x / warp::threads;
    for (std::uint32_t k = blocks * w + blockIdx.x; k < in.fragments.size(); k += warps * blocks) {
      const fragment_entry fragment = in.fragments[k];
      if (fragment.boards == 0) continue;
      const std::uint32_t event = columns.packets[fragment.first_board].event;
      if (columns.events.accepted[event] == 0) continue;
      warp::chunk_writer writer(out.bytes + out.starts[event] + columns.fragments.at[k]);
      for (std::uint32_t j = 0; j < fragment.boards; ++j) {
        for_each_packed_run(
            in, columns, fragment.first_board + j,
            [&](const std::byte* from, std::uint32_t n) { writer.append(from, n); });
      }
      writer.finish();
    }
  }
};

template <>
struct cuda_form<deliver_events> {
  using type = deliver_events_by_warp;
};

} // namespace l3
