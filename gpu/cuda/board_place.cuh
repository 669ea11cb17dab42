// SPDX-License-Identifier: Apache-2.0
// Loads the 518 32-bit words of a full board packet with the threads of a warp, after the
// packet was found (gpu/decode/found_packet.hpp). Most packets are in one piece of memory; one
// in two datagrams is in two pieces; tests make pieces of any length, which may divide 32-bit
// words.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/decode/found_packet.hpp"

namespace l3 {

class board_place {
public:
  static constexpr std::uint32_t word = sizeof(std::uint32_t);
  static constexpr std::uint32_t header = l2::header_words / 2; // words of 32 bits
  static constexpr std::uint32_t samples = l2::sample_words / 2;
  static constexpr std::uint32_t footer = l2::footer_words / 2;

  /// The packet of a board with samples. `in` must outlive this object.
  __device__ board_place(const batch_view& in, const found_packet& found, std::uint32_t board)
      : in_(in), found_(found), board_(board) {}

  /// Loads sample word first + k · stride, unchanged, into words[k].
  template <std::uint32_t stride, std::uint32_t n>
  __device__ void load_samples(std::uint32_t first, std::uint32_t (&words)[n]) const {
    load_rows<stride>(first, words, [](std::uint32_t k) { return k; });
  }
  /// Likewise the first two of each four rows: 0, 1, 4, 5, 8, …, a stride apart.
  template <std::uint32_t stride, std::uint32_t n>
  __device__ void load_pairs(std::uint32_t first, std::uint32_t (&words)[n]) const {
    load_rows<stride>(first, words, [](std::uint32_t k) { return 4 * (k / 2) + k % 2; });
  }

  /// Word n of the packet.
  [[nodiscard]] __device__ std::uint32_t load(std::uint32_t n) const {
    if (found_.lies_in(found_packet::one)) return words_of_first()[n];
    return found_.lies_in(found_packet::two) ? of_two(n) : of_any(n);
  }

  /// Loads word first + k · stride of the packet into words[k]. Threads may load different packets.
  template <std::uint32_t n>
  __device__ void load(std::uint32_t first, std::uint32_t stride, std::uint32_t (&words)[n]) const {
    if (!found_.lies_in(found_packet::any)) { // of_two also finds the words of a single run
#pragma unroll
      for (std::uint32_t k = 0; k < n; ++k) words[k] = of_two(first + stride * k);
      return;
    }
    load_any(words, [&](std::uint32_t k) { return first + stride * k; });
  }

private:
  /// `row(k)` is the row of words[k].
  template <std::uint32_t stride, std::uint32_t n, class Row>
  __device__ void load_rows(std::uint32_t first, std::uint32_t (&words)[n], Row row) const {
    if (found_.lies_in(found_packet::one)) {
      const std::uint32_t* const from = words_of_first() + (header + first);
#pragma unroll
      for (std::uint32_t k = 0; k < n; ++k) words[k] = from[stride * row(k)];
    } else if (found_.lies_in(found_packet::two)) {
      const auto at = static_cast<std::int32_t>(word * (header + first));
      const std::int32_t left = static_cast<std::int32_t>(found_.first_bytes) - at; // or negative
      const std::byte* one = in_.input + found_.first + at;
      const std::byte* other = second() + at;
      asm("" : "+l"(one), "+l"(other)); // or the compiler selects an offset for each load
#pragma unroll
      for (std::uint32_t k = 0; k < n; ++k) {
        const auto further = static_cast<std::int32_t>(word * stride * row(k));
        words[k] =
            *reinterpret_cast<const std::uint32_t*>((further < left ? one : other) + further);
      }
    } else {
      load_any(words, [&](std::uint32_t k) { return header + first + stride * row(k); });
    }
  }

  /// Such packets are rare. A loop that is not unrolled takes no registers for them, and the words
  /// move up because registers have no index.
  template <std::uint32_t n, class Number>
  __device__ void load_any(std::uint32_t (&words)[n], Number number) const {
#pragma unroll
    for (std::uint32_t k = 0; k < n; ++k) words[k] = 0;
#pragma unroll 1
    for (std::uint32_t k = 0; k < n; ++k) {
      const std::uint32_t next = of_any(number(k));
#pragma unroll
      for (std::uint32_t m = 1; m < n; ++m) words[m - 1] = words[m];
      words[n - 1] = next;
    }
  }

  [[nodiscard]] __device__ const std::uint32_t* words_of_first() const {
    return reinterpret_cast<const std::uint32_t*>(in_.input + found_.first);
  }
  /// Such that byte n of the packet is at there + n, for bytes from the second run on.
  [[nodiscard]] __device__ const std::byte* second() const {
    return in_.input + found_.second - found_.first_bytes;
  }
  [[nodiscard]] __device__ std::uint32_t of_two(std::uint32_t n) const {
    const bool in_first = word * n < found_.first_bytes;
    const std::byte* const from = in_first ? in_.input + found_.first : second();
    return reinterpret_cast<const std::uint32_t*>(from)[n];
  }
  [[nodiscard]] __device__ std::uint32_t of_any(std::uint32_t n) const {
    const board_entry& board = in_.boards[board_];
    const auto sample = [&](std::uint32_t at) -> std::uint32_t {
      return *reinterpret_cast<const std::uint16_t*>(
          byte_of(in_.input, in_.pieces.data(), in_.fragment_of(board_), at));
    };
    const std::uint32_t at = board.offset + word * n;
    return sample(at) | sample(at + word / 2) << 16;
  }

  const batch_view& in_;
  found_packet found_;
  std::uint32_t board_;
};

} // namespace l3
