// SPDX-License-Identifier: Apache-2.0
// Unpacking with vectors, compiled once for each instruction set: the steps of packing in reverse.
// The code loads octets whole, 16 bytes at stride N, and splits words of 128, 64 and 32 bits until
// each lane has its N bits. On processors that permute bytes across a whole register, two
// instructions do all of that.
//
// Loads end at most max_record_bytes after the start of their record. The code copies the last
// records to a buffer that is long enough for such loads. The portable form finds out which record
// is damaged, and how.
#if defined(L3_WAVEFORMS_UNPACK_SIMD) == defined(HWY_TARGET_TOGGLE)
#ifdef L3_WAVEFORMS_UNPACK_SIMD
#undef L3_WAVEFORMS_UNPACK_SIMD
#else
#define L3_WAVEFORMS_UNPACK_SIMD
#endif

#include <cstring>
#include <span>

#include "gpu/codec/waveforms_portable.hpp"
#include "gpu/codec/waveforms_simd.hpp"
#include "gpu/codec/waveforms_tables.hpp"
#include "transport/format/l2.hpp"

HWY_BEFORE_NAMESPACE();
namespace l3::koto {
namespace HWY_NAMESPACE {

#if HWY_TARGET & (HWY_AVX2 | HWY_AVX3 | HWY_AVX3_DL)

#if HWY_TARGET == HWY_AVX3_DL

/// The differences of half a record, whose octets begin at p. The first instruction moves the bytes
/// of a quad into its 64-bit word; the second moves 8 bits from any place of a word into each byte
/// of it.
HWY_INLINE vector16 load_differences(const std::byte* p, std::uint32_t bits) {
  const hn::ScalableTag<std::uint8_t> d8;
  const spread_step& step = spread_steps[bits];
  const auto bytes = hn::LoadU(d8, reinterpret_cast<const std::uint8_t*>(p));
  const auto words = _mm512_permutexvar_epi8(hn::Load(d8, step.byte_of).raw, bytes.raw);
  const auto lanes = _mm512_multishift_epi64_epi8(hn::Load(d8, step.bit_of).raw, words);
  const auto mask = hn::Set(d16, static_cast<std::uint16_t>((1U << bits) - 1));
  return hn::And(vector16{lanes}, mask);
}

#else

HWY_INLINE vector64 load_blocks(const std::byte* p, std::size_t stride) {
  const auto load_half = [&](const std::byte* from) HWY_ATTR {
    const hn::FixedTag<std::uint64_t, 2> block;
    const hn::FixedTag<std::uint64_t, 4> half;
    return hn::Combine(half,
                       hn::LoadU(block, reinterpret_cast<const std::uint64_t*>(from + stride)),
                       hn::LoadU(block, reinterpret_cast<const std::uint64_t*>(from)));
  };
#if HWY_TARGET == HWY_AVX2
  return load_half(p);
#else
  return hn::Combine(d64, load_half(p + 2 * stride), load_half(p));
#endif
}

/// The differences of as many octets as fit a vector, the first at p. Splitting leaves bits of the
/// neighbours above the N bits of each lane; the mask at the end clears them.
HWY_INLINE vector16 load_differences(const std::byte* p, std::uint32_t bits) {
  const split_step& step = split_steps[bits];
  const auto octets_ = load_blocks(p, bits);
  const auto lower = hn::InterleaveLower(d64, octets_, octets_);
  const auto quads = hn::Or(hn::Shr(lower, hn::LoadDup128(d64, step.octet_right)),
                            hn::Shl(octets_, hn::LoadDup128(d64, step.octet_left)));
  const auto pairs = hn::OddEven(hn::BitCast(d32, hn::Shl(quads, hn::Set(d64, step.quad_shift))),
                                 hn::BitCast(d32, quads));
  const auto lanes = hn::OddEven(hn::BitCast(d16, hn::Shl(pairs, hn::Set(d32, step.pair_shift))),
                                 hn::BitCast(d16, pairs));
  return hn::And(lanes, hn::Set(d16, static_cast<std::uint16_t>((1U << bits) - 1)));
}

#endif

template <store_to where>
HWY_INLINE void store(vector16 samples, std::uint16_t* to) {
  if constexpr (where == store_to::caches) {
    hn::StoreU(samples, d16, to);
  } else {
    const hn::FixedTag<std::uint16_t, 8> piece;
    const hn::FixedTag<std::uint16_t, 16> half;
    const auto stream = [&](auto both, std::uint16_t* at) HWY_ATTR {
      hn::Stream(hn::LowerHalf(piece, both), piece, at);
      hn::Stream(hn::UpperHalf(piece, both), piece, at + 8);
    };
#if HWY_TARGET == HWY_AVX2
    stream(samples, to);
#else
    stream(hn::LowerHalf(half, samples), to);
    stream(hn::UpperHalf(half, samples), to + 16);
#endif
  }
}

/// The result of a check of samples, for each lane.
struct found_samples {
  vector16 wrapped; ///< not 0: a sample exceeds 16 bits
  vector16 bits;    ///< set in any of them
};

template <store_to where, bool checked>
HWY_INLINE void unpack_samples(const std::byte* p, std::uint32_t bits, std::uint32_t minimum,
                               std::uint16_t* to, found_samples& found) {
  const auto minima = hn::Set(d16, static_cast<std::uint16_t>(minimum));
  for (std::size_t i = 0; i < vectors; ++i) {
    const auto differences =
        load_differences(p + record_head_bytes + i * vector_octets * bits, bits);
    const auto sum = hn::Add(differences, minima);
    if constexpr (checked) {
      found.wrapped = hn::Or(found.wrapped, hn::Xor(sum, hn::SaturatedAdd(differences, minima)));
      found.bits = hn::Or(found.bits, sum);
    }
    store<where>(sum, to + i * vector_samples);
  }
}

/// Unpacks the record at p, with N = bits; max_record_bytes must be readable at p. With AVX2 the
/// check costs a fifth of the time, so it skips records whose minimum and N rule out a sample of
/// more than 14 bits; with AVX-512 a branch costs more than the check.
template <store_to where>
HWY_INLINE void unpack_one(const std::byte* p, std::uint32_t bits, std::uint16_t* to,
                           found_samples& found) {
  const std::uint32_t minimum = load<std::uint16_t>(p + 1);
  if (HWY_TARGET == HWY_AVX2 && minimum + (1U << bits) - 1 <= l2::payload_mask)
    unpack_samples<where, false>(p, bits, minimum, to, found);
  else
    unpack_samples<where, true>(p, bits, minimum, to, found);
}

template <store_to where>
unpack_result unpack_to(std::span<const std::byte> records, std::span<std::uint16_t> samples) {
  const std::byte* p = records.data();
  std::size_t left = records.size(); // from p on
  std::uint16_t* to = samples.data();
  std::uint16_t* const full = to + samples.size() / record_samples * record_samples;
  found_samples found{hn::Zero(d16), hn::Zero(d16)};
  while (to != full && left >= max_record_bytes) {
    prefetch<false>(p, ahead_reading, 2 * cache_line);
    if constexpr (where == store_to::caches)
      prefetch<true>(to, ahead_writing, sizeof(std::uint16_t) * record_samples);
    const std::uint32_t bits = load<std::uint8_t>(p);
    if (bits > max_bits) break;
    unpack_one<where>(p, bits, to, found);
    p += record_bytes(bits);
    left -= record_bytes(bits);
    to += record_samples;
  }
  // Unpacks the last records from a buffer with enough readable bytes after them.
  std::byte last[2 * max_record_bytes];
  if (to != full && left != 0 && left < max_record_bytes) {
    std::memcpy(last, p, left);
    std::memset(last + left, 0, sizeof last - left);
    p = last;
    while (to != full && left != 0) {
      const std::uint32_t bits = load<std::uint8_t>(p);
      if (bits > max_bits || left < record_bytes(bits)) break;
      unpack_one<where>(p, bits, to, found);
      p += record_bytes(bits);
      left -= record_bytes(bits);
      to += record_samples;
    }
  }
  unpack_result r;
  if (hn::AllTrue(d16, hn::Eq(found.wrapped, hn::Zero(d16)))) {
    r.records = static_cast<std::size_t>(to - samples.data()) / record_samples;
    r.bytes = records.size() - left;
    const auto above = hn::AndNot(hn::Set(d16, l2::payload_mask), found.bits);
    r.above_payload = !hn::AllTrue(d16, hn::Eq(above, hn::Zero(d16)));
  } // else the portable form starts over and finds the damaged record
  return portable::unpack(records, samples, r);
}

unpack_result unpack_waveforms(std::span<const std::byte> records, std::span<std::uint16_t> samples,
                               store_to where) {
  const bool aligned = reinterpret_cast<std::uintptr_t>(samples.data()) % 16 == 0;
  return where == store_to::memory && aligned ? unpack_to<store_to::memory>(records, samples)
                                              : unpack_to<store_to::caches>(records, samples);
}

#else

inline unpack_result unpack_waveforms(std::span<const std::byte> records,
                                      std::span<std::uint16_t> samples, store_to) {
  return portable::unpack(records, samples);
}

#endif

} // namespace HWY_NAMESPACE
} // namespace l3::koto
HWY_AFTER_NAMESPACE();

#endif
