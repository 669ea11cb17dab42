// SPDX-License-Identifier: Apache-2.0
// How a warp packs the samples of a board to KOTO records (gpu/codec/koto.hpp), and how it brings
// bytes from shared memory to any address.
//
// Thread t packs 16 consecutive samples of two records: those of pair t % 8, samples 16 (t / 8) and
// on, which are two octets each. One permutation of bytes turns two words of a packet, with a
// sample of each record, into two samples of one record in the machine's byte order. Octets are
// built by multiplications: two samples d0, d1 side by side become d0 + d1 · 2^N, and so on.
//
// The *image* of a board lies in shared memory at the destination's offset modulo 16, and leaves it
// in 16-byte stores. Most boards are packed the short way (short_records.cuh). The way of this
// header can pack all; its image begins as zeros, so that threads can merge the bytes of a word
// that they share.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/cuda/board_place.cuh"
#include "gpu/cuda/sample_pairs.cuh"
#include "gpu/cuda/warp.cuh"

namespace l3::warp {

inline constexpr std::uint32_t chunk = 16; ///< bytes of the widest access

struct alignas(chunk) chunk_words {
  std::uint32_t word[chunk / sizeof(std::uint32_t)];
};

/// Which two records the thread packs, and where else records with numbers beside theirs are.
struct record_pair {
  std::uint32_t pair;  ///< 0 … 7
  std::uint32_t first; ///< the number of the one whose samples are the lower halves of words
  std::uint32_t second;

  __device__ explicit record_pair(board_kind kind) {
    const bool is_slow = kind == board_kind::sampling_125_mhz;
    pair = thread() % 8;
    first = pair + (pair & (is_slow ? 7U : 4U)); // 0, 2, 4 … or 0 … 3, 8 … 11
    second = first + (is_slow ? 1 : 4);
  }
};

/// The samples that a thread packs: words[r][q] has samples 2 q and 2 q + 1 of its 16, of record r.
struct packed_samples {
  static constexpr std::uint32_t words_of_record = 8;
  std::uint32_t words[2][words_of_record];

  __device__ void load(const board_place& place, const batch_view& in,
                       const fragment_entry& fragment, board_kind kind) {
    std::uint32_t loaded[2 * words_of_record];
    const std::uint32_t t = thread();
    constexpr std::uint32_t quarter = board_place::samples / 4;
    if (kind == board_kind::sampling_125_mhz) { // eight words are a row
      place.load_samples<8>(in, fragment, quarter * (t / 8) + t % 8, loaded);
    } else { // two words are a row, and each quarter of the rows has its own records
      place.load_samples<2>(in, fragment, quarter * (t % 4) + quarter / 4 * (t / 8) + t / 4 % 2,
                            loaded);
    }
    constexpr std::uint32_t lower_halves = 0x4501;
    constexpr std::uint32_t upper_halves = 0x6723;
#pragma unroll
    for (std::uint32_t q = 0; q < words_of_record; ++q) {
      words[0][q] = __byte_perm(loaded[2 * q], loaded[2 * q + 1], lower_halves);
      words[1][q] = __byte_perm(loaded[2 * q], loaded[2 * q + 1], upper_halves);
    }
  }

  /// The lowest and the highest of the thread's samples: of the first record in the lower halves,
  /// of the second in the upper ones.
  __device__ void find_extremes(std::uint32_t& low, std::uint32_t& high) const {
    std::uint32_t lows[2];
    std::uint32_t highs[2];
#pragma unroll
    for (std::uint32_t r = 0; r < 2; ++r) {
      lows[r] = highs[r] = words[r][0];
#pragma unroll
      for (std::uint32_t q = 1; q < words_of_record; ++q) {
        lows[r] = pairs::lowest(lows[r], words[r][q]);
        highs[r] = pairs::highest(highs[r], words[r][q]);
      }
    }
    constexpr std::uint32_t lower_halves = 0x5410;
    constexpr std::uint32_t upper_halves = 0x7632;
    low = pairs::lowest(__byte_perm(lows[0], lows[1], lower_halves),
                        __byte_perm(lows[0], lows[1], upper_halves));
    high = pairs::highest(__byte_perm(highs[0], highs[1], lower_halves),
                          __byte_perm(highs[0], highs[1], upper_halves));
  }
};

/// What a thread must know of a record to pack samples of it.
struct packed_record {
  std::uint32_t bits;    ///< N
  std::uint32_t minimum; ///< without its tag
  std::uint32_t place;   ///< where the record starts in its board's records

  /// The first three bytes of the record.
  [[nodiscard]] __device__ std::uint32_t head() const { return bits | minimum << 8; }
};

/// The two records of a thread.
struct packed_pair {
  packed_record first;
  packed_record second;

  /// Threads whose numbers differ by 8 have the same records. N and minimum are known; the places
  /// follow from the N of all other threads.
  __device__ void find_places(const record_pair& number, board_kind kind) {
    std::uint32_t before = 0; // the sum of all N of records before the first
    std::uint32_t between = first.bits;
    if (kind == board_kind::sampling_125_mhz) {
      const std::uint32_t both = first.bits + second.bits;
      before = sum_so_far<8>(both) - both;
    } else { // eight records of four threads, then those of four others
      constexpr std::uint32_t half = 16;
      const std::uint32_t both = first.bits | second.bits << half;
      const std::uint32_t so_far = sum_so_far<4>(both);
      const std::uint32_t all = of_thread(so_far, thread() | 3);
      const std::uint32_t others = __shfl_up_sync(everyone, (all & 0xffff) + (all >> half), 4);
      before = (so_far & 0xffff) - first.bits + ((number.pair & 4) != 0 ? others : 0);
      between = (all & 0xffff) - (so_far & 0xffff) + first.bits + (so_far >> half) - second.bits;
    }
    first.place = koto::record_head_bytes * number.first + koto::octets * before;
    second.place = koto::record_head_bytes * number.second + koto::octets * (before + between);
  }
};

/// Where a record starts among those of its board that are in the mask `kept`. `bits` is N of all
/// 16 records, one byte each.
[[nodiscard]] __device__ inline std::uint32_t place_among(std::uint32_t kept, std::uint32_t record,
                                                          const std::uint32_t (&bits)[4]) {
  const std::uint32_t before = kept & ((1U << record) - 1);
  std::uint32_t sums = 0; // of every fourth record: a byte each, at most 4 × 14
#pragma unroll
  for (std::uint32_t k = 0; k < 4; ++k) {
    // Bits 0 … 3 become the lowest bits of four bytes, and these become whole bytes.
    const std::uint32_t lowest = (before >> 4 * k & 0xf) * 0x00204081 & 0x01010101;
    sums += bits[k] & lowest * 0xff;
  }
  return koto::record_head_bytes * static_cast<std::uint32_t>(__popc(before)) +
         koto::octets * (sums * 0x01010101 >> 24);
}

/// An image as the accesses below name it: its address in shared memory.
class image_bytes {
public:
  /// `at` is the offset from which on places count.
  __device__ explicit image_bytes(chunk_words* image, std::uint32_t at = 0)
      : address_(static_cast<std::uint32_t>(__cvta_generic_to_shared(image)) + at) {}

  [[nodiscard]] __device__ image_bytes from(std::uint32_t at) const {
    return image_bytes(address_ + at);
  }
  [[nodiscard]] __device__ std::uint32_t address() const { return address_; }
  [[nodiscard]] __device__ bool begins_at_word() const { return address_ % word == 0; }

  /// Merges the first n bytes of a run of up to 16 bytes, from byte `at` on. All other bytes of the
  /// run are 0. Words that are whole belong to no other run.
  __device__ void put(std::uint32_t at, const std::uint32_t (&run)[4], std::uint32_t n) const {
    const std::uint32_t byte = address_ + at;
    const std::uint32_t to = byte & ~(word - 1);
    const std::uint32_t shift = 8 * byte; // the exchange of words below takes it modulo 32
    const std::uint32_t end = byte % word + n;
    merge(to, __funnelshift_l(0, run[0], shift));
    store<1>(to, end, __funnelshift_l(run[0], run[1], shift));
    store<2>(to, end, __funnelshift_l(run[1], run[2], shift));
    store<3>(to, end, __funnelshift_l(run[2], run[3], shift));
    store<4>(to, end, __funnelshift_l(run[3], 0, shift));
  }

  /// Merges up to four bytes; those above them are 0.
  __device__ void put(std::uint32_t at, std::uint32_t bytes) const {
    const std::uint32_t byte = address_ + at;
    const std::uint32_t to = byte & ~(word - 1);
    const std::uint32_t shift = 8 * byte;
    merge(to, __funnelshift_l(0, bytes, shift));
    const std::uint32_t rest = __funnelshift_l(bytes, 0, shift);
    if (rest != 0) merge(to + word, rest);
  }

private:
  static constexpr std::uint32_t word = sizeof(std::uint32_t);

  __device__ explicit image_bytes(std::uint32_t address) : address_(address) {}

  /// Word k from `to` on, of a run that ends at byte `end` from there. Predicates, because as
  /// branches the two kinds of stores would part the warp at every word.
  template <std::uint32_t k>
  __device__ static void store(std::uint32_t to, std::uint32_t end, std::uint32_t bytes) {
    asm volatile("{\n\t.reg .pred %%ends, %%merges;\n\t"
                 "setp.lt.u32 %%ends, %1, %3;\n\t"
                 "setp.gt.and.u32 %%merges, %1, %2, %%ends;\n\t"
                 "@!%%ends st.shared.u32 [%0+%2], %4;\n\t"
                 "@%%merges red.shared.or.b32 [%0+%2], %4;\n\t}" ::"r"(to),
                 "r"(end), "n"(word * k), "n"(word * (k + 1)), "r"(bytes)
                 : "memory");
  }
  __device__ static void merge(std::uint32_t to, std::uint32_t bytes) {
    asm volatile("red.shared.or.b32 [%0], %1;" ::"r"(to), "r"(bytes) : "memory");
  }

  std::uint32_t address_;
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

/// Merges all records of a board into an image, which begins with the first; or those that are in
/// the mask `kept`, whose bit r is record r. Few boards need this way, so its code is short: a turn
/// for each of the thread's octets, whose samples move up meanwhile, because registers have no
/// index.
__device__ inline void pack_records(const packed_samples& samples, const packed_pair& mine,
                                    const image_bytes& image, const record_pair& number,
                                    std::uint32_t kept = 0xffff) {
  constexpr std::uint32_t word_bits = 64;
  constexpr std::uint32_t words = packed_samples::words_of_record;
  const std::uint32_t quarter = thread() / 8;
  std::uint32_t rest[2 * words];
#pragma unroll
  for (std::uint32_t q = 0; q < 2 * words; ++q) rest[q] = samples.words[q / words][q % words];
  packed_record record = mine.first;
#pragma unroll 1
  for (std::uint32_t turn = 0; turn < 4; ++turn) {
    const std::uint32_t octet = 2 * quarter + turn % 2;
    if (turn == 2) record = mine.second;
    const bool is_kept = (kept >> (turn < 2 ? number.first : number.second) & 1) != 0;
    if (octet == 0 && is_kept) image.put(record.place, record.head());
    const octet_maker maker(record);
    const std::uint64_t first = maker.quad(rest[0], rest[1]);
    const std::uint64_t second = maker.quad(rest[2], rest[3]);
#pragma unroll
    for (std::uint32_t q = 0; q + words / 2 < 2 * words; ++q) rest[q] = rest[q + words / 2];
    if (record.bits == 0 || !is_kept) continue; // behind the head other boards may begin
    const std::uint64_t low = first | shifted_up(second, 4 * record.bits);
    const std::uint64_t high = shifted_down(second, word_bits - 4 * record.bits);
    image.put(record.place + koto::record_head_bytes + octet * record.bits,
              {static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(low >> word_bits / 2),
               static_cast<std::uint32_t>(high), static_cast<std::uint32_t>(high >> word_bits / 2)},
              record.bits);
  }
}

/// Fills the part of an image that n bytes from byte `at` on take with zeros, up to a chunk more.
/// `t` is the number of the calling thread among `width` that do it together.
__device__ inline void clear_image(chunk_words* image, std::uint32_t end, std::uint32_t t,
                                   std::uint32_t width) {
#pragma unroll 1
  for (std::uint32_t c = t; c <= end / chunk; c += width) image[c] = {};
}

/// Fills n bytes of an image, from a word on, with zeros, and orders that before what the warp does
/// next.
__device__ inline void clear_words(const image_bytes& image, std::uint32_t n) {
  constexpr std::uint32_t word = sizeof(std::uint32_t);
#pragma unroll 1
  for (std::uint32_t at = word * thread(); at < n; at += word * threads)
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(image.address() + at), "r"(0) : "memory");
  sync();
}

/// Copies the chunk that lies `further` bytes behind `from` to that behind `to`, if the place of
/// that in its image, `at` + `further`, is below `end`.
template <std::uint32_t further>
__device__ void copy_chunk_if(std::uint32_t at, std::uint32_t end, std::uint32_t from,
                              std::byte* to) {
  asm volatile("{\n\t.reg .pred %%there;\n\t.reg .b32 %%a, %%b, %%c, %%d;\n\t"
               "setp.lt.u32 %%there, %0, %1;\n\t"
               "@%%there ld.shared.v4.u32 {%%a, %%b, %%c, %%d}, [%2+%4];\n\t"
               "@%%there st.global.v4.u32 [%3+%4], {%%a, %%b, %%c, %%d};\n\t}" ::"r"(at + further),
               "r"(end), "r"(from), "l"(to), "n"(further)
               : "memory");
}

/// Copies bytes at … at + n − 1 of an image to `to`, whose address modulo 16 is `at`, by `width`
/// threads, at least 32.
template <std::uint32_t width>
__device__ inline void copy_image(const chunk_words* image, std::uint32_t at, std::uint32_t n,
                                  std::byte* to, std::uint32_t t) {
  const std::uint32_t end = at + n;
  const auto* const from = reinterpret_cast<const std::byte*>(image);
  std::byte* const base = to - at;
  if (t < 2 * chunk) {
    // The first and the last chunk byte for byte: others may write to the rest of them.
    const std::uint32_t byte = t < chunk ? t : end / chunk * chunk + t - chunk;
    if (byte < end && (t < chunk ? byte >= at : byte >= chunk)) base[byte] = from[byte];
  }
  // The chunks between; most images take two turns at most.
  constexpr std::uint32_t turn = chunk * width;
  const std::uint32_t shared = image_bytes(const_cast<chunk_words*>(image)).address();
  const std::uint32_t last = end / chunk * chunk;
  std::uint32_t byte = chunk + chunk * t;
  copy_chunk_if<0>(byte, last, shared + byte, base + byte);
  copy_chunk_if<turn>(byte, last, shared + byte, base + byte);
#pragma unroll 1
  for (byte += 2 * turn; byte < last; byte += turn)
    copy_chunk_if<0>(byte, last, shared + byte, base + byte);
}

} // namespace l3::warp
