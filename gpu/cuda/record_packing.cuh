// SPDX-License-Identifier: Apache-2.0
// How a warp packs the samples of a board to KOTO records (gpu/codec/koto.hpp), from registers and
// without shared memory.
//
// Thread t packs half a record: 32 samples, or four octets, of record t / 2. So the threads follow
// one another as their bytes do. A word of a packet has a sample of two records, so two threads
// load the words of the same two records, and each gives the other what it needs: one permutation
// of bytes turns two words of a packet into two samples of one record in the machine's byte order.
//
// The bytes of a thread's half record, behind the head where it is the first half, are one *run*.
// They leave in *pieces* of eight bytes, by one store each. A piece belongs to the thread that has
// its last byte; the bytes before, of other threads, come to that thread by exchanges. Most boards
// are packed the short way (short_records.cuh); the way of this header can pack all.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/cuda/board_place.cuh"
#include "gpu/cuda/sample_pairs.cuh"
#include "gpu/cuda/warp.cuh"

namespace l3::warp {

inline constexpr std::uint32_t piece = 8; ///< bytes that one store brings to the output

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

/// The samples that a thread packs, two in a word. Of each octet, the thread has loaded one quad
/// itself, the first one where `which` is 0; the other thread has loaded the other quad.
struct packed_samples {
  static constexpr std::uint32_t words_of_quad = 2;
  static constexpr std::uint32_t octets = 4;
  static constexpr std::uint32_t words = words_of_quad * octets;
  std::uint32_t own[words];
  std::uint32_t other[words];

  __device__ void load(const board_place& place, const batch_view& in,
                       const fragment_entry& fragment, const record_half& mine, board_kind kind) {
    std::uint32_t loaded[2 * words];
    constexpr std::uint32_t quad = 4;       // rows
    constexpr std::uint32_t of_record = 64; // rows
    const std::uint32_t row = of_record / 2 * mine.half + quad * mine.which;
    if (kind == board_kind::sampling_125_mhz) { // eight words are a row
      place.load_samples<8, quad>(in, fragment, 8 * row + mine.record / 2, loaded);
    } else { // two words are a row, and each quarter of the rows has its own records
      place.load_samples<2, quad>(
          in, fragment, 2 * (of_record * (mine.record % 4) + row) + mine.record / 8, loaded);
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
  /// Where the bytes of the thread's samples start.
  [[nodiscard]] __device__ std::uint32_t samples(const record_half& mine) const {
    return place + koto::record_head_bytes + mine.half * packed_samples::octets * bits;
  }
  /// The first three bytes of the record.
  [[nodiscard]] __device__ std::uint32_t head() const { return bits | minimum << 8; }
};

[[nodiscard]] __device__ inline std::uint64_t multiply_add(std::uint32_t a, std::uint32_t b,
                                                           std::uint64_t c) {
  std::uint64_t sum = 0;
  asm("mad.wide.u32 %0, %1, %2, %3;" : "=l"(sum) : "r"(a), "r"(b), "l"(c));
  return sum;
}
/// These give 0 where everything is shifted out.
[[nodiscard]] __device__ inline std::uint64_t shifted_up(std::uint64_t a, std::uint32_t n) {
  std::uint64_t shifted = 0;
  asm("shl.b64 %0, %1, %2;" : "=l"(shifted) : "l"(a), "r"(n));
  return shifted;
}
[[nodiscard]] __device__ inline std::uint64_t shifted_down(std::uint64_t a, std::uint32_t n) {
  std::uint64_t shifted = 0;
  asm("shr.u64 %0, %1, %2;" : "=l"(shifted) : "l"(a), "r"(n));
  return shifted;
}

/// Makes octets of a record's samples. N is at most 14, because all tags are right.
///
/// A quad is a sum of differences times powers of 2^N, so the minimum can be subtracted from the
/// sum of the samples instead of from each of them: `minimum_` is what four minima with their tags
/// sum up to. Arithmetic modulo 2^64 makes the result right.
class octet_maker {
public:
  __device__ explicit octet_maker(const packed_record& record)
      : second_((1U << record.bits) - (1U << 16)), fourth_(1U << 2 * record.bits) {
    const std::uint32_t two = pair((record.minimum | l2::sample_tag) * pairs::both);
    minimum_ = std::uint64_t{0} - multiply_add(two, fourth_, two);
  }

  /// Four samples become a quad of 4 N bits.
  [[nodiscard]] __device__ std::uint64_t quad(std::uint32_t a, std::uint32_t b) const {
    return multiply_add(pair(b), fourth_, multiply_add(pair(a), 1, minimum_));
  }

private:
  /// d0 + d1 · 2^N, of samples d0 and d1.
  [[nodiscard]] __device__ std::uint32_t pair(std::uint32_t samples) const {
    return samples + (samples >> 16) * second_;
  }
  std::uint32_t second_;  ///< moves a sample from bit 16 to bit N
  std::uint32_t fourth_;  ///< 2^2N
  std::uint64_t minimum_; ///< its negative
};

/// What a thread has of its run that was not yet stored. The first piece is kept back: bytes of
/// other threads may belong to it.
class open_run {
public:
  /// The run begins `at` bytes behind `base`, a multiple of eight.
  __device__ open_run(std::byte* base, std::uint32_t at)
      : first_(base + at / piece * piece), to_(first_), filled_(8 * (at % piece)) {}

  /// Appends up to 64 bits; all bits of `value` above them are 0.
  __device__ void append(std::uint64_t value, std::uint32_t bits) {
    constexpr std::uint32_t all = 8 * piece;
    last_ |= shifted_up(value, filled_);
    const std::uint32_t filled = filled_ + bits;
    if (filled >= all) {
      if (to_ == first_) {
        kept_ = last_;
      } else {
        *reinterpret_cast<std::uint64_t*>(to_) = last_;
      }
      to_ += piece;
      last_ = shifted_down(value, all - filled_);
    }
    filled_ = filled % all;
  }

  /// Stores what is left. All threads have appended all, to runs of one board, of which the first
  /// begins `begin` bytes behind `base`: less than a piece.
  __device__ void close(std::byte* base, std::uint32_t begin) {
    const std::uint32_t t = thread();
    // What a thread hands on: its last bytes, and if it has filled no piece, what it was given.
    std::uint32_t low = static_cast<std::uint32_t>(last_);
    std::uint32_t high = static_cast<std::uint32_t>(last_ >> 32);
    std::uint32_t hands_on = to_ == first_ ? 1 : 0;
#pragma unroll 1
    for (std::uint32_t distance = 1; distance < threads; distance *= 2) {
      const std::uint32_t low_before = before(low, distance);
      const std::uint32_t high_before = before(high, distance);
      const std::uint32_t before_hands_on = before(hands_on, distance);
      if (t < distance || hands_on == 0) continue;
      low |= low_before;
      high |= high_before;
      hands_on = before_hands_on;
    }
    const std::uint64_t given = before(low, 1) | std::uint64_t{before(high, 1)} << 32;
    if (t != 0) kept_ |= given;
    const bool has_first = to_ != first_;
    const bool is_partial = has_first && first_ == base && begin != 0;
    if (has_first && !is_partial) *reinterpret_cast<std::uint64_t*>(first_) = kept_;
    // Of the first and the last piece of the board by the byte: others may write to their rest. No
    // thread has both. A board that keeps few records may begin and end in one piece.
    std::byte* const to = is_partial ? first_ : to_;
    const std::uint64_t bytes = is_partial ? kept_ : low | std::uint64_t{high} << 32;
    const std::uint32_t end = is_partial ? piece : t == threads - 1 ? filled_ / 8 : 0;
#pragma unroll 1
    for (std::uint32_t k = to == base ? begin : 0; k < end; ++k)
      to[k] = static_cast<std::byte>(bytes >> 8 * k);
  }

private:
  [[nodiscard]] __device__ static std::uint32_t before(std::uint32_t value,
                                                       std::uint32_t distance) {
    return __shfl_up_sync(everyone, value, distance);
  }

  std::byte* first_;       ///< the piece in which the run begins
  std::byte* to_;          ///< the piece in which it ends so far
  std::uint32_t filled_;   ///< bits of that piece
  std::uint64_t last_ = 0; ///< the run's bytes in that piece
  std::uint64_t kept_ = 0; ///< those in the first piece, when it is filled
};

/// Packs the records of a board to `to`, without those whose threads say that they are not kept.
/// Few boards need this way, so its code is short: a turn for each of the thread's octets, whose
/// samples move up meanwhile, because registers have no index.
__device__ inline void pack_records(const packed_samples& samples, const packed_record& record,
                                    const record_half& mine, bool is_kept, std::byte* to) {
  constexpr std::uint32_t octet_words = 2 * packed_samples::words_of_quad;
  constexpr std::uint32_t words = 2 * packed_samples::words;
  std::uint32_t rest[words];
#pragma unroll
  for (std::uint32_t q = 0; q < packed_samples::words; ++q) {
    const std::uint32_t at = q / 2 * octet_words + q % 2;
    rest[at] = mine.which == 0 ? samples.own[q] : samples.other[q];
    rest[at + packed_samples::words_of_quad] = mine.which == 0 ? samples.other[q] : samples.own[q];
  }
  const auto begin = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(to) % piece);
  std::uint32_t at = begin + (is_kept ? record.samples(mine) : record.place);
  if (is_kept && mine.half == 0) at -= koto::record_head_bytes;
  open_run run(to - begin, at);
  const octet_maker maker(record);
  constexpr std::uint32_t most = 64;
  std::uint64_t low = record.head();
  std::uint64_t high = 0;
  std::uint32_t bits = is_kept && mine.half == 0 ? 8 * koto::record_head_bytes : 0;
#pragma unroll 1
  for (std::uint32_t turn = 0;; ++turn) {
#pragma unroll 1
    for (; bits != 0; bits -= umin(bits, most)) {
      run.append(low, umin(bits, most));
      low = high;
    }
    if (turn == packed_samples::octets) break;
    const std::uint64_t first = maker.quad(rest[0], rest[1]);
    const std::uint64_t second = maker.quad(rest[2], rest[3]);
#pragma unroll
    for (std::uint32_t q = 0; q + octet_words < words; ++q) rest[q] = rest[q + octet_words];
    low = first | shifted_up(second, 4 * record.bits);
    high = shifted_down(second, most - 4 * record.bits);
    bits = is_kept ? 8 * record.bits : 0;
  }
  run.close(to - begin, begin);
}

} // namespace l3::warp
