// SPDX-License-Identifier: Apache-2.0
// The short way to pack a board (record_packing.cuh): for all N from 3 to 7, as quiet channels have
// them, and a destination at a multiple of four. The thread moves its run to where it lies in a
// window of five pieces of the output. Each run is so long that it has the last byte of a piece.
// Where a board begins amid a piece, and then it also ends amid one, another board has the other
// halves of these two pieces.
#pragma once

#include <cstdint>

#include "gpu/cuda/record_packing.cuh"

namespace l3::warp {

inline constexpr std::uint32_t least_short = 3; // N
inline constexpr std::uint32_t most_short = 7;

/// Whether the N of all threads are those of the short way.
[[nodiscard]] __device__ inline bool can_be_short(const packed_record& record) {
  return !any(record.bits - least_short > most_short - least_short);
}

/// The two words of a number of 64 bits.
__device__ inline void take_apart(std::uint64_t number, std::uint32_t& low, std::uint32_t& high) {
  asm("mov.b64 {%0, %1}, %2;" : "=r"(low), "=r"(high) : "l"(number));
}

/// The bits of four octets. N is so small that a quad of samples has less than 32 bits: one product
/// of halves makes a pair of samples, and one more product joins two pairs.
struct packed_half {
  static constexpr std::uint32_t size = packed_samples::octets * most_short / 4;
  std::uint32_t words[size];

  __device__ packed_half(const packed_samples& samples, const packed_record& record,
                         std::uint32_t which) {
    const std::uint32_t bits = record.bits;
    const std::uint32_t power = 1U << bits;
    const std::uint32_t second = power << 8 | 1U; // as two bytes: 1 and 2^N
    const std::uint32_t fourth = power * power;
    const std::uint32_t eighth = fourth * fourth;
    const std::uint32_t tagged = record.minimum | l2::sample_tag;
    const std::uint32_t two = tagged * power + tagged;
    const std::uint32_t minimum = two * ~fourth; // of a quad, negative: see octet_maker
    const std::uint32_t own_place = which == 0 ? 1 : eighth;
    const std::uint32_t other_place = which == 0 ? eighth : 1;
    const auto quad = [&](std::uint32_t a, std::uint32_t b) {
      return __dp2a_lo(b, second, 0U) * fourth + __dp2a_lo(a, second, minimum);
    };
    std::uint64_t octets[packed_samples::octets];
#pragma unroll
    for (std::uint32_t k = 0; k < packed_samples::octets; ++k) {
      const std::uint32_t own = quad(samples.own[2 * k], samples.own[2 * k + 1]);
      const std::uint32_t other = quad(samples.other[2 * k], samples.other[2 * k + 1]);
      octets[k] = multiply_add(other, other_place, std::uint64_t{own} * own_place);
    }
    std::uint32_t early[4];
    std::uint32_t late[4];
    join(octets[0], octets[1], 8 * bits, early);
    join(octets[2], octets[3], 8 * bits, late);
    // The late octets begin 16 N bits behind the early ones: at a word for an even N, amid a word
    // for an odd N; and, by the word, at word 1 for N = 3, 2 for N = 4 and 5, 3 for N = 6 and 7.
    const std::uint32_t shift = 16 * bits;
    const std::uint32_t l0 = __funnelshift_l(0, late[0], shift);
    const std::uint32_t l1 = __funnelshift_l(late[0], late[1], shift);
    const std::uint32_t l2 = __funnelshift_l(late[1], late[2], shift);
    const std::uint32_t l3 = __funnelshift_l(late[2], late[3], shift);
    const bool at_one = bits == 3;
    const bool at_three = bits > 5;
    words[0] = early[0];
    words[1] = early[1] | (at_one ? l0 : 0);
    words[2] = early[2] | (at_one ? l1 : at_three ? 0 : l0);
    words[3] = at_three ? early[3] | l0 : at_one ? 0 : l1;
    words[4] = at_three ? l1 : l2; // of N = 3, l2 is 0
    words[5] = at_three ? l2 : 0;
    words[6] = at_three ? l3 : 0;
  }

private:
  __device__ static void join(std::uint64_t first, std::uint64_t second, std::uint32_t bits,
                              std::uint32_t (&words)[4]) {
    constexpr std::uint32_t word_bits = 64;
    take_apart(first | shifted_up(second, bits), words[0], words[1]);
    take_apart(shifted_down(second, word_bits - bits), words[2], words[3]);
  }
};

inline constexpr std::uint32_t window_words = 5 * piece / sizeof(std::uint32_t);

/// Moves a word and a half record behind it to where they lie in the window: the word begins at
/// byte `at`, modulo 8. All other bytes of the window become 0.
__device__ inline void move_to_window(std::uint32_t before, const packed_half& half,
                                      std::uint32_t at, std::uint32_t (&window)[window_words]) {
  constexpr std::uint32_t size = packed_half::size + 2;
  static_assert(window_words == size + 1);
  std::uint32_t by_bytes[size];
  const std::uint32_t shift = 8 * at; // the exchange of words below takes it modulo 32
  by_bytes[0] = __funnelshift_l(0, before, shift);
  by_bytes[1] = __funnelshift_l(before, half.words[0], shift);
#pragma unroll
  for (std::uint32_t k = 2; k + 1 < size; ++k)
    by_bytes[k] = __funnelshift_l(half.words[k - 2], half.words[k - 1], shift);
  by_bytes[size - 1] = __funnelshift_l(half.words[size - 3], 0, shift);
  const bool by_a_word = at % piece >= sizeof(std::uint32_t);
  window[0] = by_a_word ? 0 : by_bytes[0];
#pragma unroll
  for (std::uint32_t k = 1; k < size; ++k) window[k] = by_a_word ? by_bytes[k - 1] : by_bytes[k];
  window[size] = by_a_word ? by_bytes[size - 1] : 0;
}

/// Merges what the thread before left of its last piece into the first piece, or into the second
/// one if `is_second` is not 0. Thread 0 has nothing before it.
__device__ inline void take_over(std::uint32_t low, std::uint32_t high, std::uint32_t is_second,
                                 std::uint32_t (&window)[window_words]) {
  asm volatile("{\n\t.reg .pred %%there, %%second;\n\t.reg .b32 %%low, %%high;\n\t"
               "shfl.sync.up.b32 %%low|%%there, %4, 1, 0, -1;\n\t"
               "shfl.sync.up.b32 %%high, %5, 1, 0, -1;\n\t"
               "setp.ne.and.u32 %%second, %6, 0, %%there;\n\t"
               "@%%there or.b32 %0, %0, %%low;\n\t@%%there or.b32 %1, %1, %%high;\n\t"
               "@%%second or.b32 %2, %2, %%low;\n\t@%%second or.b32 %3, %3, %%high;\n\t}"
               : "+r"(window[0]), "+r"(window[1]), "+r"(window[2]), "+r"(window[3])
               : "r"(low), "r"(high), "r"(is_second));
}

/// Stores the pieces of a window that belong to the thread: the second, the first if the run begins
/// in it, and those of the others that end before byte `end`. Predicates, because branches would
/// part the warp.
__device__ inline void store_pieces(std::uint32_t start, std::uint32_t end, std::byte* to,
                                    const std::uint32_t (&window)[window_words]) {
  asm volatile("{\n\t.reg .pred %%first, %%third, %%fourth;\n\t"
               "setp.lt.u32 %%first, %1, 8;\n\t"
               "setp.ge.u32 %%third, %2, 24;\n\t"
               "setp.ge.u32 %%fourth, %2, 32;\n\t"
               "@%%first st.global.v2.u32 [%0], {%3, %4};\n\t"
               "st.global.v2.u32 [%0+8], {%5, %6};\n\t"
               "@%%third st.global.v2.u32 [%0+16], {%7, %8};\n\t"
               "@%%fourth st.global.v2.u32 [%0+24], {%9, %10};\n\t}" ::"l"(to),
               "r"(start), "r"(end), "r"(window[0]), "r"(window[1]), "r"(window[2]), "r"(window[3]),
               "r"(window[4]), "r"(window[5]), "r"(window[6]), "r"(window[7])
               : "memory");
}

/// Stores a word if a = b.
__device__ inline void store_word_if_equal(std::uint32_t a, std::uint32_t b, std::byte* to,
                                           std::uint32_t word) {
  asm volatile("{\n\t.reg .pred %%is;\n\tsetp.eq.u32 %%is, %0, %1;\n\t"
               "@%%is st.global.u32 [%2], %3;\n\t}" ::"r"(a),
               "r"(b), "l"(to), "r"(word)
               : "memory");
}

/// Packs a board that can_be_short() to `to`, a multiple of four.
__device__ inline void pack_short_records(const packed_samples& samples,
                                          const packed_record& record, const record_half& mine,
                                          std::byte* to) {
  constexpr std::uint32_t word = sizeof(std::uint32_t);
  const packed_half half(samples, record, mine.which);
  const auto first = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(to) % piece);
  // The word before the samples ends with the record's head; the window begins with the piece of
  // that word. One piece is added, so that no place is negative.
  const std::uint32_t at = first + record.samples(mine) + piece - word;
  std::uint32_t window[window_words];
  move_to_window(mine.half == 0 ? record.head() << 8 : 0, half, at, window);
  const std::uint32_t begin = at % piece; // of that word, in the window
  const std::uint32_t start = begin + (mine.half == 0 ? word - koto::record_head_bytes : word);
  const std::uint32_t end = begin + word + packed_samples::octets * record.bits;
  // The piece in which the run ends is the third, the fourth or the fifth.
  const bool in_fifth = end >= 4 * piece;
  const bool in_third = end < 3 * piece;
  const std::uint32_t left = in_fifth ? window[8] : in_third ? window[4] : window[6];
  take_over(left, in_fifth ? window[9] : in_third ? window[5] : window[7], start / piece, window);
  std::byte* const begins = to - first - piece + (at - begin);
  const std::uint32_t t = thread();
  store_pieces(t == 0 ? piece : start, end, begins, window);
  if (first != 0) {
    store_word_if_equal(t, 0, begins + word, window[1]);
    store_word_if_equal(t, threads - 1, begins + end / piece * piece, left);
  }
}

} // namespace l3::warp
