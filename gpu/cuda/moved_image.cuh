// SPDX-License-Identifier: Apache-2.0
// The image of a board (record_packing.cuh) that is made before its place in the output is known.
// Then 16-byte pieces of the output are not pieces of the image: each is combined from two of them
// when the image is copied out.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/cuda/record_packing.cuh"

namespace l3::warp {

class moved_image {
public:
  /// Call it once, before anything else, with all threads of the warp that uses the image.
  __device__ void begin() {
    if (thread() < piece_words) before_[thread()] = 0;
  }

  /// The memory in which the board's header, footer and records are built.
  [[nodiscard]] __device__ board_image& board() { return board_; }

  /// Clears the bytes behind the end of the board, up to the end of the piece, because they are
  /// read with it. The word in which the board ends is already set.
  __device__ void finish(std::uint32_t end) {
    constexpr std::uint32_t word = sizeof(std::uint32_t);
    auto* const behind = reinterpret_cast<std::uint32_t*>(board_.bytes + end / word * word);
    if (thread() < piece_words - 1) behind[1 + thread()] = 0;
  }

  /// Copies the board, n bytes, to `to` with any alignment. The block must have passed a barrier
  /// since finish().
  __device__ void copy(std::uint32_t n, std::byte* to) const {
    const std::uint32_t into = place_in_piece(to);
    std::byte* const base = to - into;
    const std::uint32_t first = into == 0 ? 0 : 1;
    const std::uint32_t end = (into + n) / board_image::piece;
    const std::uint32_t bits = 8 * (into % sizeof(std::uint32_t));
    switch (into / sizeof(std::uint32_t)) {
    case 0: copy_pieces<0>(bits, first, end, base); break;
    case 1: copy_pieces<1>(bits, first, end, base); break;
    case 2: copy_pieces<2>(bits, first, end, base); break;
    default: copy_pieces<3>(bits, first, end, base); break;
    }
    // The bytes in the first piece and those behind the last whole one: other boards have the rest.
    const std::uint32_t t = thread();
    const std::uint32_t at =
        t % board_image::piece + (t < board_image::piece ? 0 : end * board_image::piece);
    const std::uint32_t from = at - into;
    if (from < n && (t >= board_image::piece || first != 0)) base[at] = board_.bytes[from];
    sync(); // the image may now be overwritten
  }

private:
  static constexpr std::uint32_t piece_words = board_image::piece / sizeof(std::uint32_t);

  /// Copies whole pieces of the output, which begin `words` words and some bits before those of the
  /// image.
  template <std::uint32_t words>
  __device__ void copy_pieces(std::uint32_t bits, std::uint32_t first, std::uint32_t end,
                              std::byte* to) const {
    const auto* from = reinterpret_cast<const uint4*>(before_) + first + thread();
    auto* out = reinterpret_cast<uint4*>(to) + first + thread();
    const auto* const out_end = reinterpret_cast<uint4*>(to) + end;
#pragma unroll 1
    for (; out < out_end; from += threads, out += threads) {
      const uint4 earlier = from[0];
      const uint4 own = from[1];
      const std::uint32_t row[] = {earlier.x, earlier.y, earlier.z, earlier.w,
                                   own.x,     own.y,     own.z,     own.w};
      constexpr std::uint32_t at = piece_words - words; // of the first word of the output
      *out = {__funnelshift_l(row[at - 1], row[at], bits),
              __funnelshift_l(row[at], row[at + 1], bits),
              __funnelshift_l(row[at + 1], row[at + 2], bits),
              __funnelshift_l(row[at + 2], row[at + 3], bits)};
    }
  }

  alignas(board_image::piece) std::uint32_t before_[piece_words]; ///< 0: the piece before the first
  board_image board_;
};

} // namespace l3::warp
