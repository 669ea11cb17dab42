// SPDX-License-Identifier: Apache-2.0
// How a warp packs the samples of a board to KOTO records (gpu/codec/koto.hpp), from registers.
//
// Thread t packs half a record: 32 samples, or four octets, of record t / 2. A word of a packet has
// a sample of two records, so two threads load the words of the same two records, and each gives
// the other what it needs: one permutation of bytes turns two words of a packet into two samples of
// one record in the machine's byte order.
//
// An octet takes N bytes, so records are runs of bits of any length at any place. The threads put
// them together in an *image* of the board in shared memory, without branches that depend on N.
// Then the image leaves in stores of 16 bytes by neighbouring threads.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/cuda/board_place.cuh"
#include "gpu/cuda/sample_pairs.cuh"
#include "gpu/cuda/warp.cuh"

namespace l3::warp {

/// Which half of which record the thread packs.
struct record_half {
  std::uint32_t record;
  std::uint32_t half;
  std::uint32_t which;   ///< the half of a packet's words that has the record's samples
  std::uint32_t partner; ///< in these bits the number of the thread with the words' other record
                         ///< differs

  __device__ explicit record_half(board_kind kind) : record(thread() / 2), half(thread() % 2) {
    const bool is_slow = kind == board_kind::sampling_125_mhz;
    which = (is_slow ? record : record / 4) % 2;
    partner = is_slow ? 2 : 8;
  }
};

/// The samples that a thread packs, two in a word. Of its four octets the thread has loaded two
/// itself, the first two where `which` is 0; the other thread has loaded the other two.
struct packed_samples {
  static constexpr std::uint32_t words = 8;
  static constexpr std::uint32_t octets = 2; // in so many words
  std::uint32_t own[words];
  std::uint32_t other[words];

  __device__ void load(const board_place& place, const record_half& mine, board_kind kind) {
    std::uint32_t loaded[2 * words];
    constexpr std::uint32_t of_record = 64; // rows
    const std::uint32_t row = of_record / 2 * mine.half + of_record / 4 * mine.which;
    if (kind == board_kind::sampling_125_mhz) { // eight words are a row
      place.load_samples<8>(8 * row + mine.record / 2, loaded);
    } else { // two words are a row, and each quarter of the rows has its own records
      place.load_samples<2>(2 * (of_record * (mine.record % 4) + row) + mine.record / 8, loaded);
    }
    constexpr std::uint32_t lower_halves = 0x4501;
    constexpr std::uint32_t upper_halves = 0x6723;
    const std::uint32_t to_keep = mine.which == 0 ? lower_halves : upper_halves;
    const std::uint32_t to_give = mine.which == 0 ? upper_halves : lower_halves;
#pragma unroll
    for (std::uint32_t q = 0; q < words; ++q) {
      own[q] = permuted(loaded[2 * q], loaded[2 * q + 1], to_keep);
      other[q] = across(permuted(loaded[2 * q], loaded[2 * q + 1], to_give), mine.partner);
    }
  }

  /// Puts the numbers of multiples in the place of the samples, with the samples' tags.
  __device__ void round(const sample_rounding& by) {
#pragma unroll
    for (std::uint32_t q = 0; q < words; ++q) {
      own[q] = pairs::rounded(own[q], by);
      other[q] = pairs::rounded(other[q], by);
    }
  }

  /// The lowest and the highest sample of the record, in both halves of a word.
  __device__ void find_extremes(std::uint32_t& low, std::uint32_t& high) const {
    low = pairs::lowest(own[0], other[0]);
    high = pairs::highest(own[0], other[0]);
#pragma unroll
    for (std::uint32_t q = 1; q < words; ++q) {
      low = pairs::lowest(low, pairs::lowest(own[q], other[q]));
      high = pairs::highest(high, pairs::highest(own[q], other[q]));
    }
    constexpr std::uint32_t halves_change_places = 0x1032;
    constexpr std::uint32_t other_half = 1; // of the record
    low = pairs::lowest(low, __byte_perm(low, 0, halves_change_places));
    high = pairs::highest(high, __byte_perm(high, 0, halves_change_places));
    low = pairs::lowest(low, across(low, other_half));
    high = pairs::highest(high, across(high, other_half));
  }

private:
  /// As __byte_perm, for a selector that has no other bits.
  [[nodiscard]] __device__ static std::uint32_t permuted(std::uint32_t a, std::uint32_t b,
                                                         std::uint32_t selector) {
    std::uint32_t made = 0;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(made) : "r"(a), "r"(b), "r"(selector));
    return made;
  }
};

/// What a thread must know of its record to pack samples of it.
struct packed_record {
  std::uint32_t bits;    ///< N
  std::uint32_t minimum; ///< without its tag
  std::uint32_t place;   ///< where the record starts in its board's records

  /// N and minimum are known; the place follows from the N of all other threads.
  __device__ void find_place(const record_half& mine) {
    place =
        koto::record_head_bytes * mine.record + koto::octets * (sum_of_every_second(bits) - bits);
  }
  /// The same among the records of a board that are in the mask `kept`, whose bit r is record r.
  __device__ void find_place(const record_half& mine, std::uint32_t kept) {
    const std::uint32_t own = (kept >> mine.record & 1) != 0 ? bits : 0;
    const auto before = static_cast<std::uint32_t>(__popc(kept & ((1U << mine.record) - 1)));
    place = koto::record_head_bytes * before + koto::octets * (sum_of_every_second(own) - own);
  }
  /// Where the bytes start of the octets that the thread has loaded itself, and of the others.
  [[nodiscard]] __device__ std::uint32_t own_octets(const record_half& mine) const {
    return octets(2 * mine.half + mine.which);
  }
  [[nodiscard]] __device__ std::uint32_t other_octets(const record_half& mine) const {
    return octets(2 * mine.half + 1 - mine.which);
  }
  [[nodiscard]] __device__ std::uint32_t end() const { return octets(4); }
  /// The first three bytes of the record.
  [[nodiscard]] __device__ std::uint32_t head() const { return bits | minimum << 8; }

private:
  [[nodiscard]] __device__ std::uint32_t octets(std::uint32_t quarter) const {
    return place + koto::record_head_bytes + quarter * packed_samples::octets * bits;
  }
};

[[nodiscard]] __device__ inline std::uint64_t multiply_add(std::uint32_t a, std::uint32_t b,
                                                           std::uint64_t c) {
  std::uint64_t sum = 0;
  asm("mad.wide.u32 %0, %1, %2, %3;" : "=l"(sum) : "r"(a), "r"(b), "l"(c));
  return sum;
}
/// The two words of a number of 64 bits.
__device__ inline void take_apart(std::uint64_t number, std::uint32_t& low, std::uint32_t& high) {
  asm("mov.b64 {%0, %1}, %2;" : "=r"(low), "=r"(high) : "l"(number));
}

/// The packed records of a board, in shared memory of the warp that packs it. Pieces of 16 bytes of
/// the image are pieces of the output: the image begins amid its first piece where the records do.
struct alignas(16) board_image {
  static constexpr std::uint32_t piece = 16;
  static constexpr std::uint32_t most_bits = 14; // N: all tags are right
  static constexpr std::uint32_t most =
      piece - 1 + packet_lanes * koto::record_bytes(most_bits) + sizeof(std::uint32_t);
  std::byte bytes[(most + piece - 1) / piece * piece];

  [[nodiscard]] __device__ std::uint32_t address() const {
    return static_cast<std::uint32_t>(__cvta_generic_to_shared(bytes));
  }
};

/// Bits that a thread puts into an image, one behind the other. A word in which runs meet is stored
/// by the run that has the word's last bit. When all runs of the board have stored their words,
/// each run adds the bits that it has of the word in which it ends.
class bit_run {
public:
  /// The run begins at this byte of shared memory.
  __device__ explicit bit_run(std::uint32_t address) : at_(8 * address) {}

  /// Appends up to 64 bits; all bits of `value` above them are 0.
  __device__ void append(std::uint64_t value, std::uint32_t bits) {
    std::uint32_t low = 0;
    std::uint32_t high = 0;
    take_apart(value, low, high);
    const std::uint32_t first = __funnelshift_l(0, low, at_) | open_;
    const std::uint32_t second = __funnelshift_l(low, high, at_);
    const std::uint32_t third = __funnelshift_l(high, 0, at_);
    // Predicates, because branches would part the warp.
    asm volatile("{\n\t.reg .pred %%first, %%second;\n\t"
                 "setp.ge.u32 %%first, %1, 32;\n\tsetp.ge.u32 %%second, %1, 64;\n\t"
                 "@%%first st.shared.u32 [%2], %3;\n\t@%%second st.shared.u32 [%2+4], %4;\n\t"
                 "selp.b32 %0, %4, %3, %%first;\n\tselp.b32 %0, %5, %0, %%second;\n\t}"
                 : "=&r"(open_)
                 : "r"(at_ % word_bits + bits), "r"(word()), "r"(first), "r"(second), "r"(third)
                 : "memory");
    at_ += bits;
  }

  /// Adds the bits of the word in which the run ends. Other runs may do so at the same time.
  __device__ void close() const {
    asm volatile("red.shared.or.b32 [%0], %1;" ::"r"(word()), "r"(open_) : "memory");
  }

private:
  static constexpr std::uint32_t word_bits = 32;

  [[nodiscard]] __device__ std::uint32_t word() const {
    return at_ / word_bits * sizeof(std::uint32_t);
  }

  std::uint32_t at_;       ///< where the run ends so far, in bits
  std::uint32_t open_ = 0; ///< the run's bits in that word
};

/// Makes the bits of samples.
///
/// A quad is a sum of differences times powers of 2^N, so the minimum can be subtracted from the
/// sum of the samples instead of from each of them: `minimum_` is what four minima with their tags
/// sum up to. Arithmetic modulo 2^64 makes the result right.
class quad_maker {
public:
  __device__ explicit quad_maker(const packed_record& record)
      : bits_(4 * record.bits), second_((1U << record.bits) - (1U << 16)),
        fourth_(1U << 2 * record.bits) {
    const std::uint32_t two = pair((record.minimum | l2::sample_tag) * pairs::both);
    minimum_ = std::uint64_t{0} - multiply_add(two, fourth_, two);
  }

  __device__ void append(const std::uint32_t (&samples)[packed_samples::words],
                         bit_run& run) const {
#pragma unroll
    for (std::uint32_t q = 0; q < packed_samples::words; q += 2)
      run.append(quad(samples[q], samples[q + 1]), bits_);
  }

private:
  /// Four samples become a quad of 4 N bits.
  [[nodiscard]] __device__ std::uint64_t quad(std::uint32_t a, std::uint32_t b) const {
    return multiply_add(pair(b), fourth_, multiply_add(pair(a), 1, minimum_));
  }
  /// d0 + d1 · 2^N, of samples d0 and d1.
  [[nodiscard]] __device__ std::uint32_t pair(std::uint32_t samples) const {
    return samples + (samples >> 16) * second_;
  }
  std::uint32_t bits_;    ///< of a quad
  std::uint32_t second_;  ///< moves a sample from bit 16 to bit N
  std::uint32_t fourth_;  ///< 2^2N
  std::uint64_t minimum_; ///< its negative
};

/// The same for all N up to 7, as quiet channels have them. A quad has less than 32 bits then: one
/// product of halves makes a pair of samples, and one more product joins two pairs. An octet has
/// less than 64 bits, and is appended as a whole.
class octet_maker {
public:
  static constexpr std::uint32_t most_bits = 7; // N

  __device__ explicit octet_maker(const packed_record& record) : bits_(8 * record.bits) {
    const std::uint32_t power = 1U << record.bits;
    const std::uint32_t tagged = record.minimum | l2::sample_tag;
    const std::uint32_t two = tagged * power + tagged;
    second_ = power << 8 | 1U; // as two bytes: 1 and 2^N
    fourth_ = power * power;
    eighth_ = fourth_ * fourth_;
    minimum_ = two * ~fourth_; // of a quad, negative
  }

  __device__ void append(const std::uint32_t (&samples)[packed_samples::words],
                         bit_run& run) const {
#pragma unroll
    for (std::uint32_t q = 0; q < packed_samples::words; q += 4) {
      const std::uint32_t late = quad(samples[q + 2], samples[q + 3]);
      run.append(multiply_add(late, eighth_, quad(samples[q], samples[q + 1])), bits_);
    }
  }

private:
  [[nodiscard]] __device__ std::uint32_t quad(std::uint32_t a, std::uint32_t b) const {
    return __dp2a_lo(b, second_, 0U) * fourth_ + __dp2a_lo(a, second_, minimum_);
  }
  std::uint32_t bits_;    ///< of an octet
  std::uint32_t second_;  ///< makes a pair
  std::uint32_t fourth_;  ///< 2^2N
  std::uint32_t eighth_;  ///< 2^4N
  std::uint32_t minimum_; ///< four of them, negative
};

/// Copies the image's bytes from `begin`, which lies in its first piece, up to `end` to the same
/// places behind `to`, a multiple of a piece.
__device__ inline void copy_image(const board_image& image, std::uint32_t begin, std::uint32_t end,
                                  std::byte* to) {
  constexpr std::uint32_t piece = board_image::piece;
  const std::uint32_t t = thread();
  const std::uint32_t whole = begin == 0 ? 0 : piece; // where the first whole piece begins
  const std::uint32_t at = whole + piece * t;
#pragma unroll
  for (std::uint32_t k = 0; k < sizeof image.bytes; k += piece * threads) {
    if (at + k + piece <= end)
      *reinterpret_cast<uint4*>(to + at + k) =
          *reinterpret_cast<const uint4*>(image.bytes + at + k);
  }
  // The bytes before the first whole piece and behind the last one: other boards have the rest.
  const bool is_behind = t >= piece;
  const std::uint32_t first = is_behind ? whole : begin == 0 ? piece : begin;
  const std::uint32_t n = t % piece + (is_behind ? end / piece * piece : 0);
  if (first <= n && n < end) to[n] = image.bytes[n];
}

/// Packs the records of a board to `to`, without those whose threads say that they are not kept.
__device__ inline void pack_records(const packed_samples& samples, const packed_record& record,
                                    const record_half& mine, bool is_kept, board_image& image,
                                    std::byte* to) {
  const auto begin =
      static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(to) % board_image::piece);
  const std::uint32_t at = image.address() + begin;
  const std::uint32_t own_end = begin + (is_kept ? record.end() : record.place);
  const std::uint32_t end = of_thread(own_end, threads - 1);
  bit_run head(at + record.place);
  bit_run own(at + record.own_octets(mine));
  bit_run other(at + record.other_octets(mine));
  const bool has_head = is_kept && mine.half == 0;
  if (has_head) head.append(record.head(), 8 * koto::record_head_bytes);
  const bool are_quiet = !any(is_kept && record.bits > octet_maker::most_bits);
  if (is_kept) {
    const auto append = [&](const auto& maker) {
      maker.append(samples.own, own);
      maker.append(samples.other, other);
    };
    are_quiet ? append(octet_maker(record)) : append(quad_maker(record));
  }
  // No run stores the word in which the board ends.
  if (thread() == 0) {
    constexpr std::uint32_t word = sizeof(std::uint32_t);
    *reinterpret_cast<std::uint32_t*>(image.bytes + end / word * word) = 0;
  }
  sync();
  if (has_head) head.close();
  if (is_kept) {
    own.close();
    other.close();
  }
  sync();
  copy_image(image, begin, end, to - begin);
}

} // namespace l3::warp
