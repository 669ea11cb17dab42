// SPDX-License-Identifier: Apache-2.0
// Where the 518 words of 32 bits of a full board packet lie, found once for a warp, and how its
// threads load them. Most packets lie in one piece of memory; one that two datagrams brought lies
// in two; and tests make pieces of any length, at which words of 32 bits may break.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/decode/packet.hpp"

namespace l3 {

/// What measure_boards::can_be_decoded says, without branches.
[[nodiscard]] __device__ inline bool has_samples(const board_entry& board,
                                                 const fragment_entry& fragment) {
  return ((board.opaque == 0) & (packet_bytes(board, fragment) == l2::board_bytes) &
          ((board.offset | fragment.piece_bytes) % sizeof(std::uint16_t) == 0)) != 0;
}

class board_place {
public:
  static constexpr std::uint32_t word = sizeof(std::uint32_t);
  static constexpr std::uint32_t header = l2::header_words / 2; // words of 32 bits
  static constexpr std::uint32_t samples = l2::sample_words / 2;
  static constexpr std::uint32_t footer = l2::footer_words / 2;

  /// The packet of a board that is_full_packet().
  __device__ board_place(const batch_view& in, const fragment_entry& fragment, std::uint32_t offset)
      : offset_(offset) {
    std::uint32_t piece = 0;
    if (offset + l2::board_bytes > fragment.piece_bytes) {
      piece = offset / fragment.piece_bytes;
      offset -= piece * fragment.piece_bytes;
    }
    const piece_offset* const at = in.pieces.data() + fragment.first_piece + piece;
    first_ = in.input + at[0] + offset;
    first_bytes_ = fragment.piece_bytes - offset;
    if (offset % word != 0) {
      runs_ = runs::any;
    } else if (first_bytes_ >= l2::board_bytes) {
      runs_ = runs::one;
    } else if (first_bytes_ + fragment.piece_bytes >= l2::board_bytes) {
      runs_ = runs::two;
      second_ = in.input + at[1] - first_bytes_;
    } else {
      runs_ = runs::any;
    }
  }

  /// words[k] becomes sample word first + k · stride, as it stands in memory. `in` and `fragment`
  /// are those of the constructor.
  template <std::uint32_t stride, std::uint32_t n>
  __device__ void load_samples(const batch_view& in, const fragment_entry& fragment,
                               std::uint32_t first, std::uint32_t (&words)[n]) const {
    if (runs_ == runs::one) {
      const auto* const from = reinterpret_cast<const std::uint32_t*>(first_) + (header + first);
#pragma unroll
      for (std::uint32_t k = 0; k < n; ++k) words[k] = from[stride * k];
    } else if (runs_ == runs::two) {
      const auto at = static_cast<std::int32_t>(word * (header + first));
      const std::int32_t left = static_cast<std::int32_t>(first_bytes_) - at; // may be negative
      const std::byte* const one = first_ + at;
      const std::byte* const other = second_ + at;
#pragma unroll
      for (std::uint32_t k = 0; k < n; ++k) {
        const auto further = static_cast<std::int32_t>(word * stride * k);
        words[k] =
            *reinterpret_cast<const std::uint32_t*>((further < left ? one : other) + further);
      }
    } else {
      // Such packets are rare. A loop that is not unrolled keeps them from taking registers, and
      // the words move up because registers have no index.
#pragma unroll
      for (std::uint32_t k = 0; k < n; ++k) words[k] = 0;
#pragma unroll 1
      for (std::uint32_t k = 0; k < n; ++k) {
        const std::uint32_t next = of_any(in, fragment, header + first + stride * k);
#pragma unroll
        for (std::uint32_t m = 1; m < n; ++m) words[m - 1] = words[m];
        words[n - 1] = next;
      }
    }
  }

  /// Word n of the packet.
  [[nodiscard]] __device__ std::uint32_t load(const batch_view& in, const fragment_entry& fragment,
                                              std::uint32_t n) const {
    if (runs_ == runs::one) return reinterpret_cast<const std::uint32_t*>(first_)[n];
    return runs_ == runs::two ? of_two(n) : of_any(in, fragment, n);
  }

private:
  enum class runs : std::uint32_t { one, two, any };

  [[nodiscard]] __device__ std::uint32_t of_two(std::uint32_t n) const {
    const std::byte* const from = word * n < first_bytes_ ? first_ : second_;
    return reinterpret_cast<const std::uint32_t*>(from)[n];
  }
  [[nodiscard]] __device__ std::uint32_t
  of_any(const batch_view& in, const fragment_entry& fragment, std::uint32_t n) const {
    const auto sample = [&](std::uint32_t at) -> std::uint32_t {
      return *reinterpret_cast<const std::uint16_t*>(
          byte_of(in.input, in.pieces.data(), fragment, at));
    };
    const std::uint32_t at = offset_ + word * n;
    return sample(at) | sample(at + word / 2) << 16;
  }

  const std::byte* first_;            ///< the packet's first byte
  const std::byte* second_ = nullptr; ///< byte n is second_ + n, from first_bytes_ on
  std::uint32_t first_bytes_;         ///< the bytes that lie side by side from the first on
  std::uint32_t offset_;              ///< in the fragment
  runs runs_;
};

} // namespace l3
