// SPDX-License-Identifier: Apache-2.0
// strong_choice.hpp with vector instructions, compiled for each set: the sums over a record.
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

// As wide as the processor's vectors, for one record at a time.
constexpr hn::ScalableTag<std::int32_t> wide_32;
constexpr hn::ScalableTag<std::int16_t> wide_16;
constexpr hn::ScalableTag<std::uint16_t> wide_16u;
using wide_sums = hn::Vec<decltype(wide_32)>;
using vector_16 = hn::Vec<decltype(wide_16)>;
using vector_16u = hn::Vec<decltype(wide_16u)>;
constexpr std::size_t vector_samples = hn::MaxLanes(wide_16);
constexpr std::size_t record_vectors = record_samples / vector_samples;

/// Adds products of 16-bit numbers to a sum.
HWY_INLINE wide_sums add_products(wide_sums sum, vector_16 a, vector_16 b) {
  auto none = hn::Zero(wide_32);
  return hn::ReorderWidenMulAccumulate(wide_32, a, b, sum, none);
}

/// The eight samples before `now`; `before` has the earlier ones.
HWY_INLINE vector_16 half_before(vector_16 now, vector_16 before) {
#if HWY_TARGET == HWY_AVX2
  return vector_16{_mm256_permute2x128_si256(before.raw, now.raw, 0x21)};
#else
  return vector_16{_mm512_alignr_epi64(now.raw, before.raw, 6)};
#endif
}

/// The samples `back` before those of `now`; `between`: the eight samples before.
template <int back>
HWY_INLINE vector_16 shifted(vector_16 now, vector_16 between) {
  return hn::CombineShiftRightBytes<16 - 2 * back>(wide_16, now, between);
}

/// The sums of four vectors.
HWY_INLINE void totals(wide_sums a, wide_sums b, wide_sums c, wide_sums d, std::int32_t* to) {
  const hn::Repartition<std::int64_t, decltype(wide_32)> d64;
  const auto merged = [](wide_sums x, wide_sums y) HWY_ATTR {
    return hn::InterleaveLower(wide_32, x, y) + hn::InterleaveUpper(wide_32, x, y);
  };
  const auto ab = hn::BitCast(d64, merged(a, b));
  const auto cd = hn::BitCast(d64, merged(c, d));
  const wide_sums abcd = hn::BitCast(wide_32, hn::InterleaveLower(d64, ab, cd)) +
                         hn::BitCast(wide_32, hn::InterleaveUpper(d64, ab, cd)); // in each 128 bits
  const hn::Half<decltype(wide_32)> half;
#if HWY_TARGET == HWY_AVX2
  hn::StoreU(hn::LowerHalf(half, abcd) + hn::UpperHalf(half, abcd), half, to);
#else
  const hn::Half<decltype(half)> quarter;
  const auto two = hn::LowerHalf(half, abcd) + hn::UpperHalf(half, abcd);
  hn::StoreU(hn::LowerHalf(quarter, two) + hn::UpperHalf(quarter, two), quarter, to);
#endif
}

/// For each record r of a group: the sum of the vector lanes(r).
template <class Lanes>
HWY_INLINE void totals_of_records(Lanes lanes, std::int32_t* to) {
  for (std::uint32_t r = 0; r < group_records; r += 4)
    totals(lanes(r), lanes(r + 1), lanes(r + 2), lanes(r + 3), to + r);
}

/// Adds unsigned 16-bit numbers minus 0x8000 to a sum.
HWY_INLINE wide_sums add_unsigned(wide_sums sum, vector_16u v) {
  const auto less = hn::BitCast(wide_16, hn::Xor(v, hn::Set(wide_16u, 0x8000)));
  return add_products(sum, less, hn::Set(wide_16, 1));
}
constexpr std::int32_t taken_off = 0x8000 * static_cast<std::int32_t>(record_samples);

/// The view of a record's samples in strong::correlate.
struct record_scale {
  vector_16u mean;
  vector_16u clip;

  [[nodiscard]] HWY_INLINE vector_16u distance(vector_16u v) const {
    return hn::Max(v, mean) - hn::Min(v, mean);
  }
  [[nodiscard]] HWY_INLINE vector_16 clipped(vector_16u v) const {
    const auto over = hn::Min(hn::SaturatedSub(v, mean), clip);
    const auto under = hn::Min(hn::SaturatedSub(mean, v), clip);
    return hn::BitCast(wide_16, over - under);
  }
};

/// The excess in the sum of steps: the first sample's distance from the mean.
HWY_INLINE std::int32_t first_step(std::int32_t sample, std::int32_t mean, std::int32_t clip) {
  return std::min(std::abs(sample - mean), clip);
}

/// The sums of strong::correlate for a record's samples, by lanes.
struct product_sums {
  wide_sums of[taps + 1];
  wide_sums steps;

  HWY_INLINE product_sums(const std::uint16_t* samples, const record_scale& scale) {
    for (auto& s : of) s = hn::Zero(wide_32);
    steps = hn::Zero(wide_32);
    vector_16 before = hn::Zero(wide_16); // products with samples before the first are 0
    for (std::size_t i = 0; i < record_vectors; ++i) {
      const vector_16 now = scale.clipped(hn::LoadU(wide_16u, samples + i * vector_samples));
      const vector_16 between = half_before(now, before);
      const vector_16 last = shifted<1>(now, between);
      of[0] = add_products(of[0], now, now);
      of[1] = add_products(of[1], now, last);
      of[2] = add_products(of[2], now, shifted<2>(now, between));
      of[3] = add_products(of[3], now, shifted<3>(now, between));
      of[4] = add_products(of[4], now, shifted<4>(now, between));
      steps = add_products(steps, hn::Abs(now - last), hn::Set(wide_16, 1));
      before = now;
    }
  }
};

/// See strong::choose. Each stage processes all records before the next one begins, because within
/// a record it depends on the previous stage.
HWY_INLINE choice choose_with_vectors(const std::uint16_t* samples) {
  const auto load = [&](std::uint32_t record, std::size_t i) HWY_ATTR {
    return hn::LoadU(wide_16u, samples + record * record_samples + i * vector_samples);
  };
  const auto set = [](std::int32_t number)
                       HWY_ATTR { return hn::Set(wide_16u, static_cast<std::uint16_t>(number)); };
  std::int32_t mean[group_records];
  const auto sum_of = [&](std::uint32_t r) HWY_ATTR {
    wide_sums sum = hn::Zero(wide_32);
    for (std::size_t i = 0; i < record_vectors; ++i) sum = add_unsigned(sum, load(r, i));
    return sum;
  };
  totals_of_records(sum_of, mean);
  for (auto& m : mean) m = (m + taken_off + 32) >> 6;

  std::int32_t clip[group_records];
  const auto away_of = [&](std::uint32_t r) HWY_ATTR {
    const record_scale scale{set(mean[r]), set(0)};
    wide_sums sum = hn::Zero(wide_32);
    for (std::size_t i = 0; i < record_vectors; ++i)
      sum = add_unsigned(sum, scale.distance(load(r, i)));
    return sum;
  };
  totals_of_records(away_of, clip);
  for (auto& c : clip) c = std::min(((3 * (c + taken_off)) >> 6) + 1, max_clip);

  correlation of[group_records];
  for (std::uint32_t r = 0; r < group_records; r += 2) {
    const auto sums_of = [&](std::uint32_t n) HWY_ATTR {
      return product_sums(samples + n * record_samples, {set(mean[n]), set(clip[n])});
    };
    const product_sums a = sums_of(r);
    const product_sums b = sums_of(r + 1);
    std::int32_t last[4];
    totals(a.of[0], a.of[1], a.of[2], a.of[3], of[r].of);
    totals(b.of[0], b.of[1], b.of[2], b.of[3], of[r + 1].of);
    totals(a.of[taps], a.steps, b.of[taps], b.steps, last);
    of[r].of[taps] = last[0];
    of[r].steps = last[1] - first_step(samples[r * record_samples], mean[r], clip[r]);
    of[r + 1].of[taps] = last[2];
    of[r + 1].steps =
        last[3] - first_step(samples[(r + 1) * record_samples], mean[r + 1], clip[r + 1]);
  }
  return choose(of);
}

#endif

} // namespace HWY_NAMESPACE
} // namespace l3::strong
HWY_AFTER_NAMESPACE();

#endif
