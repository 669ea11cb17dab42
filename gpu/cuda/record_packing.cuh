// SPDX-License-Identifier: Apache-2.0
// Packs the samples of a board to KOTO records (gpu/codec/koto.hpp) from a warp's registers.
//
// Thread t packs half a record: 32 samples, or four octets, of record t / 2. A word of a packet has
// a sample of two records, so two threads load the words of the same two records and exchange what
// they need: one byte permutation turns two words of a packet into two samples of one record in the
// machine's byte order.
//
// An octet has N bytes, so the output of a thread is a *run* of bits of any length at any place:
// its four octets, after the record's head if they are the first half. The threads combine their
// runs in an *image* of the board in shared memory, without branches that depend on N. Then
// neighbouring threads copy the image out in stores of 16 bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/cuda/board_place.cuh"
#include "gpu/cuda/sample_pairs.cuh"
#include "gpu/cuda/warp.cuh"

namespace l3::warp {

/// The half record that the thread packs.
struct record_half {
  std::uint32_t record;
  std::uint32_t half;
  std::uint32_t which;   ///< the half of a packet's words with the record's samples
  std::uint32_t partner; ///< in these bits the number of the thread with the words' other record
                         ///< differs

  __device__ explicit record_half(board_kind kind) : record(thread() / 2), half(thread() % 2) {
    const bool is_slow = kind == board_kind::sampling_125_mhz;
    which = (is_slow ? record : record / 4) % 2;
    partner = is_slow ? 2 : 8;
  }

  /// The length of the record's head, if the thread packs it.
  [[nodiscard]] __device__ std::uint32_t head_bytes() const {
    return half == 0 ? koto::record_head_bytes : 0;
  }
};

/// The samples that a thread packs, two per word. Of each quad the thread has loaded one pair
/// itself; the other thread has loaded the other pair.
struct packed_samples {
  static constexpr std::uint32_t words = 8;
  std::uint32_t own[words];
  std::uint32_t other[words];
  bool own_first; ///< its own pairs are the first of their quads

  __device__ void load(const board_place& place, const record_half& mine, board_kind kind) {
    std::uint32_t loaded[2 * words];
    constexpr std::uint32_t of_record = 64; // rows of a record
    const std::uint32_t row = of_record / 2 * mine.half + 2 * mine.which;
    if (kind == board_kind::sampling_125_mhz) { // a row has eight words
      place.load_pairs<8>(8 * row + mine.record / 2, loaded);
    } else { // a row has two words, and each quarter of the rows has its own records
      place.load_pairs<2>(2 * (of_record * (mine.record % 4) + row) + mine.record / 8, loaded);
    }
    constexpr std::uint32_t lower_halves = 0x4501;
    constexpr std::uint32_t upper_halves = 0x6723;
    own_first = mine.which == 0;
    const std::uint32_t to_keep = own_first ? lower_halves : upper_halves;
    const std::uint32_t to_give = own_first ? upper_halves : lower_halves;
#pragma unroll
    for (std::uint32_t q = 0; q < words; ++q) {
      own[q] = permuted(loaded[2 * q], loaded[2 * q + 1], to_keep);
      other[q] = across(permuted(loaded[2 * q], loaded[2 * q + 1], to_give), mine.partner);
    }
  }

  /// The lowest and highest sample of the record, in both halves of a word.
  __device__ void find_extremes(std::uint32_t& low, std::uint32_t& high) const {
    low = pairs::lowest(own[0], other[0]);
    high = pairs::highest(own[0], other[0]);
#pragma unroll
    for (std::uint32_t q = 1; q < words; ++q) {
      low = pairs::lowest(low, pairs::lowest(own[q], other[q]));
      high = pairs::highest(high, pairs::highest(own[q], other[q]));
    }
    constexpr std::uint32_t halves_change_places = 0x1032;
    constexpr std::uint32_t other_half = 1; // the other half of the record
    low = pairs::lowest(low, __byte_perm(low, 0, halves_change_places));
    high = pairs::highest(high, __byte_perm(high, 0, halves_change_places));
    low = pairs::lowest(low, across(low, other_half));
    high = pairs::highest(high, across(high, other_half));
  }

private:
  /// Like __byte_perm, for a selector without other bits.
  [[nodiscard]] __device__ static std::uint32_t permuted(std::uint32_t a, std::uint32_t b,
                                                         std::uint32_t selector) {
    std::uint32_t made = 0;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(made) : "r"(a), "r"(b), "r"(selector));
    return made;
  }
};

/// A thread's data about its record, for packing.
struct packed_record {
  std::uint32_t bits;    ///< N
  std::uint32_t minimum; ///< without its tag

  /// The length of the thread's four octets.
  [[nodiscard]] __device__ std::uint32_t half_bytes() const { return koto::octets / 2 * bits; }
  /// The first three bytes of the record.
  [[nodiscard]] __device__ std::uint32_t head() const { return bits | minimum << 8; }
};

[[nodiscard]] __device__ inline std::uint64_t multiply_add(std::uint32_t a, std::uint32_t b,
                                                           std::uint64_t c) {
  std::uint64_t sum = 0;
  asm("mad.wide.u32 %0, %1, %2, %3;" : "=l"(sum) : "r"(a), "r"(b), "l"(c));
  return sum;
}
/// Splits a 64-bit number into two words.
__device__ inline void take_apart(std::uint64_t number, std::uint32_t& low, std::uint32_t& high) {
  asm("mov.b64 {%0, %1}, %2;" : "=r"(low), "=r"(high) : "l"(number));
}

/// The packed records of a board, in shared memory of the packing warp, from which whole pieces are
/// copied.
struct alignas(16) board_image {
  static constexpr std::uint32_t piece = 16;
  static constexpr std::uint32_t most_bits = 14; // N: all tags are right
  static constexpr std::uint32_t most = packet_lanes * koto::record_bytes(most_bits) + piece;
  std::byte bytes[(most + piece - 1) / piece * piece];

  [[nodiscard]] __device__ std::uint32_t address() const {
    return static_cast<std::uint32_t>(__cvta_generic_to_shared(bytes));
  }
};

/// The consecutive bits that a thread puts into an image. Where runs meet within a word, only the
/// run with the last bit of the word stores it.
class bit_run {
public:
  static constexpr std::uint32_t word_bits = 32;

  /// The run begins at this bit of shared memory. `before` has the previous run's bits in the same
  /// word, or is 0 if that run adds them later.
  __device__ bit_run(std::uint32_t begin, std::uint32_t before) : at_(begin), open_(before) {}

  /// Appends up to 32 bits; all bits of `value` above them are 0.
  __device__ void append(std::uint32_t value, std::uint32_t bits) {
    const std::uint32_t begin = word_begin();
    const std::uint32_t first = __funnelshift_l(0, value, at_) | open_;
    const std::uint32_t second = __funnelshift_l(value, 0, at_);
    advance(bits);
    // Predicates, because branches would split the warp.
    asm volatile("{\n\t.reg .pred %%first;\n\tsetp.ge.u32 %%first, %1, 32;\n\t"
                 "@%%first st.shared.u32 [%2], %3;\n\tselp.b32 %0, %4, %3, %%first;\n\t}"
                 : "=&r"(open_)
                 : "r"(at_ - begin), "r"(begin / 8), "r"(first), "r"(second)
                 : "memory");
  }

  /// Appends up to 64 bits; all bits of `value` above them are 0.
  __device__ void append(std::uint64_t value, std::uint32_t bits) {
    const std::uint32_t begin = word_begin();
    std::uint32_t low = 0;
    std::uint32_t high = 0;
    take_apart(value, low, high);
    const std::uint32_t first = __funnelshift_l(0, low, at_) | open_;
    const std::uint32_t second = __funnelshift_l(low, high, at_);
    const std::uint32_t third = __funnelshift_l(high, 0, at_);
    advance(bits);
    asm volatile("{\n\t.reg .pred %%first, %%second;\n\t"
                 "setp.ge.u32 %%first, %1, 32;\n\tsetp.ge.u32 %%second, %1, 64;\n\t"
                 "@%%first st.shared.u32 [%2], %3;\n\t@%%second st.shared.u32 [%2+4], %4;\n\t"
                 "selp.b32 %0, %4, %3, %%first;\n\tselp.b32 %0, %5, %0, %%second;\n\t}"
                 : "=&r"(open_)
                 : "r"(at_ - begin), "r"(begin / 8), "r"(first), "r"(second), "r"(third)
                 : "memory");
  }

  /// Appends the last bits of the run, except those in the word in which the run ends.
  __device__ void finish(std::uint64_t value, std::uint32_t bits) const {
    const std::uint32_t begin = word_begin();
    std::uint32_t low = 0;
    std::uint32_t high = 0;
    take_apart(value, low, high);
    asm volatile(
        "{\n\t.reg .pred %%first, %%second;\n\t"
        "setp.ge.u32 %%first, %0, 32;\n\tsetp.ge.u32 %%second, %0, 64;\n\t"
        "@%%first st.shared.u32 [%1], %2;\n\t@%%second st.shared.u32 [%1+4], %3;\n\t}" ::"r"(
            at_ + bits - begin),
        "r"(begin / 8), "r"(__funnelshift_l(0, low, at_) | open_),
        "r"(__funnelshift_l(low, high, at_))
        : "memory");
  }

  /// Adds the bits of the word in which the run ends, after all runs have stored their words. Other
  /// runs may do so at the same time.
  __device__ void close() const {
    asm volatile("red.shared.or.b32 [%0], %1;" ::"r"(word_begin() / 8), "r"(open_) : "memory");
  }

private:
  [[nodiscard]] __device__ std::uint32_t word_begin() const { return at_ & ~(word_bits - 1); }
  /// The asm keeps the compiler from computing every later end anew from the begin.
  __device__ void advance(std::uint32_t bits) {
    at_ += bits;
    asm("" : "+r"(at_));
  }

  std::uint32_t at_;   ///< current end of the run in bits
  std::uint32_t open_; ///< the bits of the run in that word
};

/// Computes the bits of samples.
///
/// A quad is a sum of differences times powers of 2^N, so the minimum can be subtracted from the
/// sum of the samples instead of from each of them: `minimum_` is the sum of four minima with their
/// tags. Arithmetic modulo 2^64 makes the result right.
class quad_maker {
public:
  __device__ quad_maker(const packed_record& record, bool own_first)
      : bits_(4 * record.bits), second_((1U << record.bits) - (1U << 16)) {
    const std::uint32_t third = 1U << 2 * record.bits;
    own_ = own_first ? 1 : third;
    other_ = own_first ? third : 1;
    const std::uint32_t tagged = record.minimum | l2::sample_tag;
    const std::uint32_t two = (tagged << record.bits) + tagged;
    minimum_ = std::uint64_t{0} - multiply_add(two, third, two);
  }

  /// The bits of quad n.
  [[nodiscard]] __device__ std::uint64_t quad(const packed_samples& samples,
                                              std::uint32_t n) const {
    return multiply_add(pair(samples.other[n]), other_,
                        multiply_add(pair(samples.own[n]), own_, minimum_));
  }
  [[nodiscard]] __device__ std::uint32_t bits() const { return bits_; }

private:
  /// d0 + d1 · 2^N, of samples d0 and d1.
  [[nodiscard]] __device__ std::uint32_t pair(std::uint32_t samples) const {
    return samples + (samples >> 16) * second_;
  }
  std::uint32_t bits_;    ///< per quad
  std::uint32_t second_;  ///< moves a sample from bit 16 to bit N
  std::uint32_t own_;     ///< factor of the thread's own pair: 1 or 2^2N
  std::uint32_t other_;   ///< of the other pair
  std::uint64_t minimum_; ///< negative
};

/// A quad_maker for N from 3 to 7, as in quiet channels. A quad then has less than 32 bits: one
/// product of halves makes a pair of samples, and one more product joins two pairs. An octet has
/// less than 64 bits, and is appended as a whole. It contains all bits of its run in the word in
/// which the run ends: at most 24, because runs end at whole bytes.
class octet_maker {
public:
  [[nodiscard]] __device__ static bool makes(const packed_record& record) {
    constexpr std::uint32_t fewest = 3;
    constexpr std::uint32_t most = 7;
    return record.bits - fewest <= most - fewest;
  }

  __device__ octet_maker(const packed_record& record, bool own_first) : bits_(8 * record.bits) {
    const std::uint32_t power = 1U << record.bits;
    const std::uint32_t tagged = record.minimum | l2::sample_tag;
    const std::uint32_t two = tagged * power + tagged;
    const std::uint32_t third = power * power;
    second_ = power << 8 | 1U; // as two bytes: 1 and 2^N
    own_ = own_first ? 1 : third;
    other_ = own_first ? third : 1;
    fifth_ = third * third;
    minimum_ = two * ~third; // of a quad, negative
  }

  /// The bits of octet n.
  [[nodiscard]] __device__ std::uint64_t octet(const packed_samples& samples,
                                               std::uint32_t n) const {
    return multiply_add(quad(samples, 2 * n + 1), fifth_, quad(samples, 2 * n));
  }
  [[nodiscard]] __device__ std::uint32_t bits() const { return bits_; }

private:
  [[nodiscard]] __device__ std::uint32_t quad(const packed_samples& samples,
                                              std::uint32_t n) const {
    return __dp2a_lo(samples.other[n], second_, 0U) * other_ +
           (__dp2a_lo(samples.own[n], second_, 0U) * own_ + minimum_);
  }
  std::uint32_t bits_;    ///< per octet
  std::uint32_t second_;  ///< makes a pair
  std::uint32_t own_;     ///< factor of the thread's own pair: 1 or 2^2N
  std::uint32_t other_;   ///< of the other pair
  std::uint32_t fifth_;   ///< 2^4N
  std::uint32_t minimum_; ///< four of them, negative
};

/// Copies 16 bytes from shared memory, at `from` + `offset`, unless `left` is less than `offset`.
template <std::uint32_t offset>
__device__ inline void copy_piece(std::int32_t left, std::uint32_t from, std::byte* to) {
  asm volatile("{\n\t.reg .pred %%p;\n\t.reg .b32 %%a, %%b, %%c, %%d;\n\t"
               "setp.ge.s32 %%p, %0, %3;\n\t"
               "@%%p ld.shared.v4.b32 {%%a, %%b, %%c, %%d}, [%1+%3];\n\t"
               "@%%p st.global.v4.b32 [%2+%3], {%%a, %%b, %%c, %%d};\n\t}" ::"r"(left),
               "r"(from), "l"(__cvta_generic_to_global(to)), "n"(offset)
               : "memory");
}

/// Stores `last` of the last thread as the word in which the image ends, and zeros in the words
/// after it up to the end of a piece. No run stores these words.
__device__ inline void put_last_words(const board_image& image, std::uint32_t end,
                                      std::uint32_t last) {
  constexpr std::uint32_t word = sizeof(std::uint32_t);
  const std::uint32_t k = (thread() + 1) % threads;
  asm volatile("{\n\t.reg .pred %%p;\n\tsetp.lt.u32 %%p, %0, 4;\n\t"
               "@%%p st.shared.u32 [%1], %2;\n\t}" ::"r"(k),
               "r"(word * k + (image.address() + end) / word * word), "r"(k == 0 ? last : 0)
               : "memory");
}

/// Copies the image, which ends at `end`, to `to`, a multiple of a piece.
__device__ inline void copy_image(const board_image& image, std::uint32_t end, std::byte* to) {
  constexpr std::uint32_t piece = board_image::piece;
  constexpr std::uint32_t row = piece * threads;
  static_assert(sizeof image.bytes <= 4 * row);
  sync(); // all threads have put their records there
  const std::uint32_t at = piece * thread();
  const std::uint32_t from = image.address() + at;
  const auto left = static_cast<std::int32_t>(end - 1 - at);
  copy_piece<0>(left, from, to + at);
  copy_piece<row>(left, from, to + at);
  if (end > 2 * row) {
    copy_piece<2 * row>(left, from, to + at);
    copy_piece<3 * row>(left, from, to + at);
  }
}

/// The places of a board's records in its image.
struct place_in_image {
  std::uint32_t end;    ///< of all records, in bytes
  std::uint32_t octets; ///< start of the thread's octets, in bits of shared memory

  /// `is_kept`: whether the thread's record is packed.
  __device__ place_in_image(const packed_record& record, const record_half& mine, bool is_kept,
                            const board_image& image) {
    const std::uint32_t until = sum_until(is_kept ? mine.head_bytes() + record.half_bytes() : 0);
    end = of_thread(until, threads - 1);
    octets = 8 * (image.address() + until - record.half_bytes());
  }
};

/// Puts all records of a board into its image, if all their N suit octets. Each word is stored once
/// and complete: before a thread appends, it knows the bits of the previous run in the word in
/// which its own run begins.
__device__ inline void put_quiet_records(const packed_samples& samples, const packed_record& record,
                                         const record_half& mine, const board_image& image,
                                         const place_in_image& place) {
  const std::uint32_t begin = place.octets;
  const octet_maker maker(record, samples.own_first);
  const std::uint64_t last = maker.octet(samples, 3);
  const std::uint32_t end = begin + 4 * maker.bits();
  const auto tail = static_cast<std::uint32_t>(last >> (maker.bits() - end % bit_run::word_bits));
  const std::uint32_t head_bits = 8 * mine.head_bytes();
  bit_run run(begin - head_bits, of_thread_before(tail));
  run.append(mine.half == 0 ? record.head() : 0, head_bits);
#pragma unroll
  for (std::uint32_t n = 0; n < 3; ++n) run.append(maker.octet(samples, n), maker.bits());
  run.finish(last, maker.bits());
  put_last_words(image, place.end, tail);
}

/// Puts the kept records of a board into its image, for any N. Runs may be shorter than a word
/// where N is 0, so more than two may meet in one. After all words are stored, each run adds its
/// bits of the word in which it ends.
__device__ inline void put_records(const packed_samples& samples, const packed_record& record,
                                   const record_half& mine, bool is_kept, const board_image& image,
                                   const place_in_image& place) {
  const std::uint32_t head_bits = 8 * mine.head_bytes();
  bit_run run(place.octets - head_bits, 0);
  if (is_kept) {
    run.append(mine.half == 0 ? record.head() : 0, head_bits);
    const quad_maker maker(record, samples.own_first);
#pragma unroll
    for (std::uint32_t n = 0; n < packed_samples::words; ++n)
      run.append(maker.quad(samples, n), maker.bits());
  }
  put_last_words(image, place.end, 0);
  sync();
  if (is_kept) run.close();
}

/// Packs all records of a board to `to`, a multiple of a piece.
__device__ inline void pack_records(const packed_samples& samples, const packed_record& record,
                                    const record_half& mine, const place_in_image& place,
                                    board_image& image, std::byte* to) {
  if (any(!octet_maker::makes(record))) {
    put_records(samples, record, mine, true, image, place);
  } else {
    put_quiet_records(samples, record, mine, image, place);
  }
  copy_image(image, place.end, to);
}

/// Packs to `to`, a multiple of a piece, the records whose threads say that they are kept. The same
/// code for all N keeps the code of these boards short.
__device__ inline void pack_kept_records(const packed_samples& samples, const packed_record& record,
                                         const record_half& mine, bool is_kept, board_image& image,
                                         std::byte* to) {
  const place_in_image place(record, mine, is_kept, image);
  put_records(samples, record, mine, is_kept, image, place);
  copy_image(image, place.end, to);
}

} // namespace l3::warp
