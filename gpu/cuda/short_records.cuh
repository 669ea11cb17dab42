// SPDX-License-Identifier: Apache-2.0
// The short way to pack a board: for all N from 3 to 7, as quiet channels have them, and an image
// in which the records begin at a word. Each word of the image is written once, by one store, so
// that the image need not be cleared and nothing is merged by atomics.
//
// The bytes of a record are its head of three bytes, and four runs of 2 N bytes, each made by one
// thread. A word belongs to the run that has its last byte. The bytes before it come from the
// thread of the run before, by an exchange, or from the head, which the thread knows. The thread of
// the last run also stores the word that ends within the next record's head.
#pragma once

#include <cstdint>

#include "gpu/cuda/record_packing.cuh"

namespace l3::warp {

inline constexpr std::uint32_t least_short = 3; // N
inline constexpr std::uint32_t most_short = 7;

/// The two words of a number of 64 bits.
__device__ inline void take_apart(std::uint64_t number, std::uint32_t& low, std::uint32_t& high) {
  asm("mov.b64 {%0, %1}, %2;" : "=r"(low), "=r"(high) : "l"(number));
}

/// The bits of a run, made from 16 samples. N is so small that a quad of samples has less than 32
/// bits: one product of halves makes a pair of samples, and one more product joins two pairs.
struct short_run {
  std::uint32_t words[4];
  std::uint64_t last; ///< the second octet, of N bytes

  __device__ short_run(const std::uint32_t (&samples)[packed_samples::words_of_record],
                       const packed_record& record) {
    const std::uint32_t bits = record.bits;
    const std::uint32_t power = 1U << bits;
    const std::uint32_t second = power << 8 | 1U; // as two bytes: 1 and 2^N
    const std::uint32_t fourth = power * power;
    const std::uint32_t eighth = fourth * fourth;
    const std::uint32_t tagged = record.minimum | l2::sample_tag;
    const std::uint32_t two = tagged * power + tagged;
    const std::uint32_t minimum = two * ~fourth; // of a quad, negative: see octet_maker
    const auto quad = [&](std::uint32_t a, std::uint32_t b) {
      return __dp2a_lo(b, second, 0U) * fourth + __dp2a_lo(a, second, minimum);
    };
    std::uint64_t octets[2];
#pragma unroll
    for (std::uint32_t k = 0; k < 2; ++k)
      octets[k] = multiply_add(quad(samples[4 * k + 2], samples[4 * k + 3]), eighth,
                               quad(samples[4 * k], samples[4 * k + 1]));
    constexpr std::uint32_t word_bits = 64;
    take_apart(octets[0] | shifted_up(octets[1], 8 * bits), words[0], words[1]);
    take_apart(shifted_down(octets[1], word_bits - 8 * bits), words[2], words[3]);
    last = octets[1];
  }
};

/// Stores those of four words, from address `to` on, that end before byte `end` from there: at
/// least one. Predicates, because branches would part the warp at every word.
__device__ inline void store_words(std::uint32_t to, std::uint32_t end, std::uint32_t first,
                                   std::uint32_t second, std::uint32_t third,
                                   std::uint32_t fourth) {
  asm volatile("{\n\t.reg .pred %%two, %%three, %%four;\n\t"
               "setp.ge.u32 %%two, %1, 8;\n\t"
               "setp.ge.u32 %%three, %1, 12;\n\t"
               "setp.ge.u32 %%four, %1, 16;\n\t"
               "st.shared.u32 [%0], %2;\n\t"
               "@%%two st.shared.u32 [%0+4], %3;\n\t"
               "@%%three st.shared.u32 [%0+8], %4;\n\t"
               "@%%four st.shared.u32 [%0+12], %5;\n\t}" ::"r"(to),
               "r"(end), "r"(first), "r"(second), "r"(third), "r"(fourth)
               : "memory");
}

/// Stores a word if the condition is not 0.
__device__ inline void store_word_if(std::uint32_t condition, std::uint32_t address,
                                     std::uint32_t word) {
  asm volatile("{\n\t.reg .pred %%is;\n\tsetp.ne.u32 %%is, %0, 0;\n\t"
               "@%%is st.shared.u32 [%1], %2;\n\t}" ::"r"(condition),
               "r"(address), "r"(word)
               : "memory");
}

/// Packs one record of each thread. `quarter` is the number of the run in its record, `next` the
/// head of the next record.
__device__ inline void pack_short(const std::uint32_t (&samples)[packed_samples::words_of_record],
                                  const packed_record& record, std::uint32_t next,
                                  std::uint32_t quarter, const image_bytes& image) {
  constexpr std::uint32_t word = sizeof(std::uint32_t);
  const short_run run(samples, record);
  const std::uint32_t bytes = 2 * record.bits;
  const std::uint32_t at =
      image.address() + record.place + koto::record_head_bytes + quarter * bytes;
  const std::uint32_t shift = 8 * (at % word);
  const std::uint32_t end = at % word + bytes;
  const std::uint32_t left = 8 * end % 32; // bits behind the last whole word
  const auto rest = static_cast<std::uint32_t>(shifted_down(run.last, 8 * record.bits - left));
  const std::uint32_t before = of_thread(rest, thread() - 8);
  const std::uint32_t to = at - at % word;
  store_words(to, end,
              run.words[0] << shift | (quarter == 0 ? record.head() >> (24 - shift) : before),
              __funnelshift_l(run.words[0], run.words[1], shift),
              __funnelshift_l(run.words[1], run.words[2], shift),
              __funnelshift_l(run.words[2], run.words[3], shift));
  store_word_if(quarter == 3 ? left : 0, at + bytes - left / 8, rest | next << left);
}

/// Whether the N of all threads are those of the short way.
[[nodiscard]] __device__ inline bool can_be_short(const packed_pair& mine) {
  constexpr std::uint32_t range = most_short - least_short;
  return !any(mine.first.bits - least_short > range || mine.second.bits - least_short > range);
}

/// Like pack_records, for a board that can_be_short() and begins at a word.
__device__ inline void pack_short_records(const packed_samples& samples, const packed_pair& mine,
                                          board_kind kind, const image_bytes& image) {
  const std::uint32_t t = thread();
  const std::uint32_t first = mine.first.head();
  const std::uint32_t second = mine.second.head();
  std::uint32_t after_first = second;
  std::uint32_t after_second = 0;
  if (kind == board_kind::sampling_125_mhz) {
    after_second = of_thread(first, t + 1);
  } else { // see record_pair
    after_first = of_thread(t % 4 == 0 ? second : first, t % 4 == 3 ? t - 3 : t + 1);
    after_second = of_thread(t % 4 == 0 ? first : second, t + 1);
  }
  const std::uint32_t quarter = t / 8;
  pack_short(samples.words[0], mine.first, after_first, quarter, image);
  pack_short(samples.words[1], mine.second, after_second, quarter, image);
}

} // namespace l3::warp
