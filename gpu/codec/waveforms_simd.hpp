// SPDX-License-Identifier: Apache-2.0
// Packing and unpacking with vectors of 256 or 512 bits, compiled once for each instruction set.
//
// Packing. Minimum and maximum of eight waveforms are found together: samples of different
// waveforms are interleaved until a vector has a lane of each, so that no step leaves lanes idle.
// Then waveform by waveform the minimum is subtracted, and neighbours are merged within words of
// 32, 64 and 128 bits: each merge is one shift of the word, which brings its upper half down to the
// used bits of its lower half, and one bitwise choice between the two. The 128-bit words are the
// octets of koto.hpp, of N bytes each. They are stored whole, 16 bytes at stride N, and each store
// overwrites what the one before it wrote too much. Unpacking goes the same way back.
//
// Whole stores and loads end at most max_record_bytes after the begin of their record. So packing
// needs no more room than the noisiest waveforms would, and unpacking leaves records to the
// portable form when fewer than max_record_bytes of input follow.
#if defined(L3_WAVEFORMS_SIMD) == defined(HWY_TARGET_TOGGLE)
#ifdef L3_WAVEFORMS_SIMD
#undef L3_WAVEFORMS_SIMD
#else
#define L3_WAVEFORMS_SIMD
#endif

#include <cstdint>
#include <span>

#include <hwy/highway.h>

#include "gpu/codec/waveforms_portable.hpp"
#include "gpu/codec/waveforms_tables.hpp"

HWY_BEFORE_NAMESPACE();
namespace l3::koto {
namespace HWY_NAMESPACE {

#if HWY_TARGET & (HWY_AVX2 | HWY_AVX3 | HWY_AVX3_DL)

namespace hn = hwy::HWY_NAMESPACE;

constexpr hn::ScalableTag<std::uint16_t> d16;
constexpr hn::ScalableTag<std::uint32_t> d32;
constexpr hn::ScalableTag<std::uint64_t> d64;
using vector16 = hn::Vec<decltype(d16)>;
using vector64 = hn::Vec<decltype(d64)>;
constexpr std::size_t vector_samples = hn::MaxLanes(d16);
constexpr std::size_t vectors = record_samples / vector_samples;
constexpr std::size_t vector_octets = vector_samples / 8;
constexpr std::size_t group_waveforms = 8;

// How far ahead cache lines are asked for: from memory packing gains 40 % by it and unpacking 25 %,
// and in caches nothing is lost (docs/performance.md).
constexpr std::size_t ahead_reading = 4096;
constexpr std::size_t ahead_writing = 2048;
constexpr std::size_t cache_line = 64;
constexpr std::size_t group_packed_bytes = 448; // of all but the noisiest groups

/// Asks for the lines of `bytes` bytes that lie `ahead` of p. It is no access: what lies behind a
/// buffer may be asked for.
template <bool Writing>
HWY_INLINE void prefetch(const void* p, std::size_t ahead, std::size_t bytes) {
  const auto from = reinterpret_cast<std::uintptr_t>(p) + ahead;
  for (std::size_t i = 0; i < bytes; i += cache_line) {
    __builtin_prefetch(reinterpret_cast<const void*>(from + i), Writing ? 1 : 0);
  }
}

/// yes where mask is set, else no.
HWY_INLINE vector64 choose(vector64 mask, vector64 yes, vector64 no) {
#if HWY_TARGET == HWY_AVX2
  return hn::Xor(no, hn::And(mask, hn::Xor(yes, no)));
#else
  return hn::IfVecThenElse(mask, yes, no);
#endif
}

/// Lane k of the result: f over all samples of waveform k.
template <class F>
HWY_INLINE auto reduce_group(const std::uint16_t* samples, F f) {
  vector16 v[group_waveforms];
  for (std::size_t k = 0; k < group_waveforms; ++k) {
    v[k] = hn::LoadU(d16, samples + k * record_samples);
    for (std::size_t i = 1; i < vectors; ++i) {
      v[k] = f(v[k], hn::LoadU(d16, samples + k * record_samples + i * vector_samples));
    }
  }
  const auto fold = [&](auto d, vector16 a, vector16 b) HWY_ATTR {
    const auto x = hn::BitCast(d, a);
    const auto y = hn::BitCast(d, b);
    return f(hn::BitCast(d16, hn::InterleaveLower(d, x, y)),
             hn::BitCast(d16, hn::InterleaveUpper(d, x, y)));
  };
  const vector16 quad0 = fold(d32, fold(d16, v[0], v[1]), fold(d16, v[2], v[3]));
  const vector16 quad1 = fold(d32, fold(d16, v[4], v[5]), fold(d16, v[6], v[7]));
  const vector16 blocks = fold(d64, quad0, quad1);
  const hn::Half<decltype(d16)> half;
  const auto halves = f(hn::LowerHalf(half, blocks), hn::UpperHalf(half, blocks));
#if HWY_TARGET == HWY_AVX2
  return halves;
#else
  const hn::Half<decltype(half)> quarter;
  return f(hn::LowerHalf(quarter, halves), hn::UpperHalf(quarter, halves));
#endif
}

struct group_heads {
  alignas(32) std::uint32_t bits[group_waveforms];
  alignas(32) std::uint32_t minimum[group_waveforms]; // in both halves
  alignas(32) std::uint32_t head[group_waveforms];    // N, then the minimum
};

HWY_INLINE void find_heads(const std::uint16_t* samples, group_heads& g) {
  const auto low = reduce_group(samples, [](auto a, auto b) HWY_ATTR { return hn::Min(a, b); });
  const auto high = reduce_group(samples, [](auto a, auto b) HWY_ATTR { return hn::Max(a, b); });
  const hn::FixedTag<std::int32_t, group_waveforms> di;
  const hn::RebindToUnsigned<decltype(di)> du;
  const hn::RebindToFloat<decltype(di)> df;
  // The exponent of the range as a float counts its bits; that of 0 is far below, hence the Max.
  constexpr int mantissa_bits = 23;
  constexpr std::int32_t exponent_of_half = 126;
  const auto range = hn::ConvertTo(df, hn::PromoteTo(di, hn::Sub(high, low)));
  const auto exponent = hn::ShiftRight<mantissa_bits>(hn::BitCast(di, range));
  const auto bits =
      hn::BitCast(du, hn::Max(hn::Sub(exponent, hn::Set(di, exponent_of_half)), hn::Zero(di)));
  const auto minimum = hn::PromoteTo(du, low);
  hn::Store(bits, du, g.bits);
  hn::Store(hn::Or(minimum, hn::ShiftLeft<16>(minimum)), du, g.minimum);
  hn::Store(hn::Or(bits, hn::ShiftLeft<8>(minimum)), du, g.head);
}

/// The 128-bit blocks of v to p, p + stride, …, in this order.
HWY_INLINE void store_blocks(vector64 v, std::byte* p, std::size_t stride) {
  const hn::Half<decltype(d64)> half;
  const auto store_half = [&](auto h, std::byte* to) HWY_ATTR {
    const hn::FixedTag<std::uint64_t, 2> block;
    hn::StoreU(hn::LowerHalf(block, h), block, reinterpret_cast<std::uint64_t*>(to));
    hn::StoreU(hn::UpperHalf(block, h), block, reinterpret_cast<std::uint64_t*>(to + stride));
  };
#if HWY_TARGET == HWY_AVX2
  store_half(v, p);
  static_cast<void>(half);
#else
  store_half(hn::LowerHalf(half, v), p);
  store_half(hn::UpperHalf(half, v), p + 2 * stride);
#endif
}

/// One record to p; returns its length.
HWY_INLINE std::size_t pack_one(const std::uint16_t* samples, std::uint32_t bits,
                                std::uint32_t minimum, std::uint32_t head, std::byte* p) {
  const merge_step& step = merge_steps[bits];
  const auto minima = hn::BitCast(d16, hn::Set(d32, minimum));
  const auto pair_mask = hn::BitCast(d64, hn::Set(d32, step.pair_mask));
  const auto pair_shift = hn::Set(d32, step.pair_shift);
  const auto quad_mask = hn::Set(d64, step.quad_mask);
  const auto quad_shift = hn::Set(d64, step.quad_shift);
  const auto octet_right = hn::LoadDup128(d64, step.octet_right);
  const auto octet_left = hn::LoadDup128(d64, step.octet_left);

  store(p, head);
  for (std::size_t i = 0; i < vectors; ++i) {
    const auto x = hn::BitCast(d64, hn::Sub(hn::LoadU(d16, samples + i * vector_samples), minima));
    const auto pairs =
        choose(pair_mask, x, hn::BitCast(d64, hn::Shr(hn::BitCast(d32, x), pair_shift)));
    const auto quads = choose(quad_mask, pairs, hn::Shr(pairs, quad_shift));
    const auto upper = hn::InterleaveUpper(d64, quads, quads);
    const auto octets_ = hn::Or(hn::Shr(quads, octet_right), hn::Shl(upper, octet_left));
    store_blocks(octets_, p + record_head_bytes + i * vector_octets * bits, bits);
  }
  return record_bytes(bits);
}

std::size_t pack_waveforms(std::span<const std::uint16_t> samples, std::span<std::byte> out) {
  portable::check_pack(samples, out);
  constexpr std::size_t group_samples = group_waveforms * record_samples;
  const std::size_t in_groups = samples.size() / group_samples * group_samples;
  std::byte* p = out.data();
  for (std::size_t at = 0; at < in_groups; at += group_samples) {
    const std::uint16_t* const group = samples.data() + at;
    prefetch<false>(group, ahead_reading, sizeof(std::uint16_t) * group_samples);
    prefetch<true>(p, ahead_writing, group_packed_bytes);
    group_heads g;
    find_heads(group, g);
    for (std::size_t k = 0; k < group_waveforms; ++k) {
      p += pack_one(group + k * record_samples, g.bits[k], g.minimum[k], g.head[k], p);
    }
  }
  const auto used = static_cast<std::size_t>(p - out.data());
  return used + portable::pack(samples.subspan(in_groups), out.subspan(used));
}

#if HWY_TARGET == HWY_AVX3_DL

/// The samples' differences of half a record, whose octets begin at p. The bytes that hold a quad
/// are brought into its 64-bit word, then 8 bits from any place of the word into each byte of it.
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

/// The samples' differences of as many octets as a vector holds, the first at p. Splitting leaves
/// bits of the neighbours above the N of each lane; the mask takes all of them away at the end.
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

unpack_result unpack_waveforms(std::span<const std::byte> records,
                               std::span<std::uint16_t> samples) {
  const std::byte* p = records.data();
  const std::byte* const end = p + records.size();
  std::uint16_t* to = samples.data();
  std::uint16_t* const full = to + samples.size() / record_samples * record_samples;
  auto wrapped = hn::Zero(d16);
  while (to != full && static_cast<std::size_t>(end - p) >= max_record_bytes) {
    prefetch<false>(p, ahead_reading, 2 * cache_line);
    prefetch<true>(to, ahead_writing, sizeof(std::uint16_t) * record_samples);
    const std::uint32_t bits = load<std::uint8_t>(p);
    if (bits > max_bits) break;
    const auto minima = hn::Set(d16, load<std::uint16_t>(p + 1));
    for (std::size_t i = 0; i < vectors; ++i) {
      const auto differences =
          load_differences(p + record_head_bytes + i * vector_octets * bits, bits);
      const auto sum = hn::Add(differences, minima);
      wrapped = hn::Or(wrapped, hn::Xor(sum, hn::SaturatedAdd(differences, minima)));
      hn::StoreU(sum, d16, to + i * vector_samples);
    }
    p += record_bytes(bits);
    to += record_samples;
  }
  unpack_result r;
  if (hn::AllTrue(d16, hn::Eq(wrapped, hn::Zero(d16)))) {
    r.records = static_cast<std::size_t>(to - samples.data()) / record_samples;
    r.bytes = static_cast<std::size_t>(p - records.data());
  } // else from the begin, to find out which record it was
  return portable::unpack(records, samples, r);
}

#else

inline std::size_t pack_waveforms(std::span<const std::uint16_t> samples,
                                  std::span<std::byte> out) {
  return portable::pack(samples, out);
}

inline unpack_result unpack_waveforms(std::span<const std::byte> records,
                                      std::span<std::uint16_t> samples) {
  return portable::unpack(records, samples);
}

#endif

} // namespace HWY_NAMESPACE
} // namespace l3::koto
HWY_AFTER_NAMESPACE();

#endif
