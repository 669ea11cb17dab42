// SPDX-License-Identifier: Apache-2.0
// strong_choice.hpp with vectors, compiled once for each instruction set: the sums over a record.
#if defined(L3_STRONG_CHOICE_SIMD) == defined(HWY_TARGET_TOGGLE)
#ifdef L3_STRONG_CHOICE_SIMD
#undef L3_STRONG_CHOICE_SIMD
#else
#define L3_STRONG_CHOICE_SIMD
#endif

#include <cstdint>

#include <hwy/highway.h>

#include "gpu/codec/strong_choice.hpp"
#include "gpu/codec/strong_simd.hpp"

HWY_BEFORE_NAMESPACE();
namespace l3::strong {
namespace HWY_NAMESPACE {

#if HWY_TARGET & (HWY_AVX2 | HWY_AVX3 | HWY_AVX3_DL)

constexpr hn::ScalableTag<std::uint16_t> d16u;
using vector_16 = hn::Vec<decltype(d16)>;
using vector_16u = hn::Vec<decltype(d16u)>;
constexpr std::size_t vector_samples = hn::MaxLanes(d16);
constexpr std::size_t record_vectors = record_samples / vector_samples;

/// Adds products of 16-bit numbers to a sum.
HWY_INLINE vector add_products(vector sum, vector_16 a, vector_16 b) {
  auto none = hn::Zero(d32);
  return hn::ReorderWidenMulAccumulate(d32, a, b, sum, none);
}

HWY_INLINE std::int32_t total(vector sum) { return hn::GetLane(hn::SumOfLanes(d32, sum)); }

/// The sums of four vectors.
HWY_INLINE void totals(vector a, vector b, vector c, vector d, std::int32_t* to) {
  const hn::Repartition<std::int64_t, decltype(d32)> d64;
  const auto merged = [](vector x, vector y) HWY_ATTR {
    return hn::InterleaveLower(d32, x, y) + hn::InterleaveUpper(d32, x, y);
  };
  const auto ab = hn::BitCast(d64, merged(a, b));
  const auto cd = hn::BitCast(d64, merged(c, d));
  const vector abcd = hn::BitCast(d32, hn::InterleaveLower(d64, ab, cd)) +
                      hn::BitCast(d32, hn::InterleaveUpper(d64, ab, cd)); // in each 128 bits
  const hn::Half<decltype(d32)> half;
#if HWY_TARGET == HWY_AVX2
  hn::StoreU(hn::LowerHalf(half, abcd) + hn::UpperHalf(half, abcd), half, to);
#else
  const hn::Half<decltype(half)> quarter;
  const auto two = hn::LowerHalf(half, abcd) + hn::UpperHalf(half, abcd);
  hn::StoreU(hn::LowerHalf(quarter, two) + hn::UpperHalf(quarter, two), quarter, to);
#endif
}

/// The sum of 64 numbers of 16 bits without sign.
HWY_INLINE std::int32_t total_of(const vector_16u (&x)[record_vectors]) {
  const auto sign = hn::Set(d16u, 0x8000);
  vector sum = hn::Zero(d32);
  for (const auto v : x)
    sum = add_products(sum, hn::BitCast(d16, hn::Xor(v, sign)), hn::Set(d16, 1));
  return total(sum) + 0x8000 * static_cast<std::int32_t>(record_samples);
}

/// See strong::correlate.
HWY_INLINE correlation correlate_with_vectors(const std::uint16_t* samples) {
  vector_16u x[record_vectors];
  for (std::size_t i = 0; i < record_vectors; ++i)
    x[i] = hn::LoadU(d16u, samples + i * vector_samples);
  const std::int32_t mean = (total_of(x) + 32) >> 6;
  const auto middle = hn::Set(d16u, static_cast<std::uint16_t>(mean));
  vector_16u away[record_vectors];
  for (std::size_t i = 0; i < record_vectors; ++i)
    away[i] = hn::Max(x[i], middle) - hn::Min(x[i], middle);
  const std::int32_t clip = std::min(((3 * total_of(away)) >> 6) + 1, max_clip);
  const auto most = hn::Set(d16u, static_cast<std::uint16_t>(clip));
  const auto clipped = [&](vector_16u v) HWY_ATTR {
    const auto over = hn::Min(hn::SaturatedSub(v, middle), most);
    const auto under = hn::Min(hn::SaturatedSub(middle, v), most);
    return hn::BitCast(d16, over - under);
  };

  // In front of the samples stand zeros, so that the products with samples before the first are 0.
  constexpr std::size_t before = vector_samples;
  alignas(64) std::int16_t z[before + record_samples];
  hn::Store(hn::Zero(d16), d16, z);
  for (std::size_t i = 0; i < record_vectors; ++i)
    hn::Store(clipped(x[i]), d16, z + before + i * vector_samples);
  vector sums[taps + 1];
  for (auto& s : sums) s = hn::Zero(d32);
  vector steps = hn::Zero(d32);
  for (std::size_t i = 0; i < record_vectors; ++i) {
    const std::int16_t* const at = z + before + i * vector_samples;
    const auto now = hn::Load(d16, at);
    sums[0] = add_products(sums[0], now, now);
    for (std::size_t j = 1; j <= taps; ++j) {
      const auto earlier = hn::LoadU(d16, at - j);
      sums[j] = add_products(sums[j], now, earlier);
      if (j == 1) steps = add_products(steps, hn::Abs(now - earlier), hn::Set(d16, 1));
    }
  }
  correlation c{};
  totals(sums[0], sums[1], sums[2], sums[3], c.of);
  std::int32_t last[4];
  totals(sums[4], steps, steps, steps, last);
  c.of[taps] = last[0];
  c.steps = last[1] - std::abs(std::int32_t{z[before]});
  return c;
}

/// See strong::choose.
HWY_INLINE choice choose_with_vectors(const std::uint16_t* samples) {
  correlation of[group_records];
  for (std::uint32_t i = 0; i < group_records; ++i)
    of[i] = correlate_with_vectors(samples + i * record_samples);
  return choose(of);
}

#endif

} // namespace HWY_NAMESPACE
} // namespace l3::strong
HWY_AFTER_NAMESPACE();

#endif
