// SPDX-License-Identifier: Apache-2.0
// Packing with vectors, compiled once for each instruction set.
//
// The code finds minimum and maximum of eight waveforms together: it interleaves samples of
// different waveforms until a vector has one lane for each waveform, so that no step leaves lanes
// idle. Then it takes one waveform after the other, subtracts the minimum, and merges neighbours
// within words of 32, 64 and 128 bits. Each merge is one shift, which moves the upper half of the
// word down to the used bits of the lower half, and one bitwise choice between the two. The 128-bit
// words are the octets of koto.hpp, of N bytes each. The code stores them whole, 16 bytes at stride
// N: each store overwrites the excess bytes of the store before. The last store ends at most
// max_record_bytes after the start of its record, so the output needs no more room than the
// noisiest waveforms take.
#if defined(L3_WAVEFORMS_PACK_SIMD) == defined(HWY_TARGET_TOGGLE)
#ifdef L3_WAVEFORMS_PACK_SIMD
#undef L3_WAVEFORMS_PACK_SIMD
#else
#define L3_WAVEFORMS_PACK_SIMD
#endif

#include <cstring>
#include <span>

#include "gpu/codec/waveforms_portable.hpp"
#include "gpu/codec/waveforms_simd.hpp"
#include "gpu/codec/waveforms_tables.hpp"

HWY_BEFORE_NAMESPACE();
namespace l3::koto {
namespace HWY_NAMESPACE {

#if HWY_TARGET & (HWY_AVX2 | HWY_AVX3 | HWY_AVX3_DL)

constexpr std::size_t group_waveforms = 8;
constexpr std::size_t group_packed_bytes = 448; // only the noisiest groups take more

/// The bits of `yes` where `mask` is set, else those of `no`.
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
  // The exponent of the range as a float gives its bits. That of 0 is negative, hence Max.
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

/// Stores the 128-bit words of v at p, p + stride, …, in this order.
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

/// Writes one record to p and returns its length.
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

/// Packs the first `waveforms` of the group to p and returns the end of their records.
HWY_INLINE std::byte* pack_group(const std::uint16_t* group, std::size_t waveforms, std::byte* p) {
  group_heads g;
  find_heads(group, g);
  for (std::size_t k = 0; k < waveforms; ++k) {
    p += pack_one(group + k * record_samples, g.bits[k], g.minimum[k], g.head[k], p);
  }
  return p;
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
    p = pack_group(group, group_waveforms, p);
  }
  if (const auto rest = samples.subspan(in_groups); !rest.empty()) {
    alignas(64) std::uint16_t last_group[group_samples] = {};
    std::memcpy(last_group, rest.data(), rest.size_bytes());
    p = pack_group(last_group, rest.size() / record_samples, p);
  }
  return static_cast<std::size_t>(p - out.data());
}

#else

inline std::size_t pack_waveforms(std::span<const std::uint16_t> samples,
                                  std::span<std::byte> out) {
  return portable::pack(samples, out);
}

#endif

} // namespace HWY_NAMESPACE
} // namespace l3::koto
HWY_AFTER_NAMESPACE();

#endif
