// SPDX-License-Identifier: Apache-2.0
// Common parts of encoding and decoding groups of the strong codec with vector instructions: the
// model of strong_model.hpp with the eight lanes of a group in a vector, or those of two groups in
// the form for AMD's processors with AVX-512. Those have as many units for vectors of 64 bytes as
// for vectors of 32; Intel's have two of three, and are faster with one group in a vector. Like the
// headers that include it, it is compiled once for each instruction set, hence the toggling guard.
#if defined(L3_STRONG_SIMD) == defined(HWY_TARGET_TOGGLE)
#ifdef L3_STRONG_SIMD
#undef L3_STRONG_SIMD
#else
#define L3_STRONG_SIMD
#endif

#include <cstddef>
#include <cstdint>

#include <hwy/highway.h>

#include "gpu/codec/strong.hpp"

HWY_BEFORE_NAMESPACE();
namespace l3::strong {
namespace HWY_NAMESPACE {

#if HWY_TARGET & (HWY_AVX2 | HWY_AVX3 | HWY_AVX3_DL)

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t vector_groups = HWY_TARGET == HWY_AVX3_DL ? 2 : 1;
constexpr std::size_t vector_lanes = vector_groups * lanes;
constexpr hn::FixedTag<std::int32_t, vector_lanes> d32;
constexpr hn::FixedTag<std::uint32_t, vector_lanes> d32u;
constexpr hn::FixedTag<float, vector_lanes> d32f;
constexpr hn::FixedTag<std::int16_t, 2 * vector_lanes> d16;
constexpr hn::FixedTag<std::uint32_t, lanes> of_group; // the lanes of one group
using vector = hn::Vec<decltype(d32)>;
using vector_u = hn::Vec<decltype(d32u)>;
using group_vector = hn::Vec<decltype(of_group)>;

/// Vectors that are coded in parallel: a step of one is a long chain of dependent operations,
/// during which the processor works on the others. With AVX-512 there are registers for one more,
/// but two with two groups each have enough instructions.
constexpr std::size_t bundle_vectors = HWY_TARGET == HWY_AVX3 ? 3 : 2;
constexpr std::size_t bundle_groups = bundle_vectors * vector_groups;

/// Two samples of each lane, by pairs of steps: the earlier one in the low bits.
struct lane_rows {
  alignas(64) std::uint32_t of[lane_samples / 2][vector_lanes];
};

/// A vector with f(n) in the lanes of each group n.
template <class F>
HWY_INLINE vector_u joined(const F& f) {
#if HWY_TARGET == HWY_AVX3_DL
  return hn::Combine(d32u, f(1), f(0));
#else
  return f(0);
#endif
}

/// The lanes of group n of a vector.
HWY_INLINE group_vector part(vector_u v, std::size_t n) {
#if HWY_TARGET == HWY_AVX3_DL
  return n == 0 ? hn::LowerHalf(of_group, v) : hn::UpperHalf(of_group, v);
#else
  static_cast<void>(n);
  return v;
#endif
}

/// table[index] for each lane: each number is loaded to all lanes, and then one lane of each is
/// selected. All vector units can select, while one or two can insert a number into a vector.
/// Single loads are faster than a gather on many processors: it is microcode on AMD's, and on
/// Intel's whose gathers got a security fix.
HWY_INLINE group_vector look_up_group(const std::uint32_t* table, group_vector index) {
  const auto two = [](long long numbers) { return static_cast<std::uint64_t>(numbers); };
  const __m128i low = _mm256_castsi256_si128(index.raw);
  const __m128i high = _mm256_extracti128_si256(index.raw, 1);
  const std::uint64_t at[] = {two(_mm_cvtsi128_si64(low)), two(_mm_extract_epi64(low, 1)),
                              two(_mm_cvtsi128_si64(high)), two(_mm_extract_epi64(high, 1))};
  const auto entry = [&](std::uint64_t i)
                         HWY_ATTR { return _mm256_set1_epi32(static_cast<int>(table[i])); };
  const auto pair = [&](std::size_t k) HWY_ATTR { // in all pairs of lanes
    return _mm256_blend_epi32(entry(at[k] & 0xffffffffU), entry(at[k] >> 32), 0xaa);
  };
  const __m256i lower = _mm256_blend_epi32(pair(0), pair(1), 0x0c);
  const __m256i upper = _mm256_blend_epi32(pair(2), pair(3), 0xc0);
  return group_vector{_mm256_blend_epi32(lower, upper, 0xf0)};
}

HWY_INLINE vector_u look_up(const std::uint32_t* table, vector_u index) {
  return joined([&](std::size_t n) HWY_ATTR { return look_up_group(table, part(index, n)); });
}

/// The scale as the result of a logarithm: a number whose bits 22 and above are the scale plus
/// scale_bias. The sum of the running means is exact as a floating-point number, and its exponent
/// and the upper bit of its fraction give its size in half octaves.
constexpr std::uint32_t scale_bias = 258;
constexpr std::int32_t largest_sum = 8191; // for the last scale

/// The row of a scale in a table that begins at `first`.
template <std::uint32_t row>
HWY_INLINE const std::uint32_t* biased(const std::uint32_t* first) {
  return reinterpret_cast<const std::uint32_t*>(reinterpret_cast<std::uintptr_t>(first) -
                                                std::uintptr_t{scale_bias * row} * sizeof *first);
}

/// The low 16 bits as a signed number. Processors have fewer units that shift than units that
/// multiply or add.
HWY_INLINE vector low_16_bits(vector v, vector one) {
  auto none = hn::Zero(d32);
  return hn::ReorderWidenMulAccumulate(d32, hn::BitCast(d16, v), hn::BitCast(d16, one), none, none);
}

/// Moves the low 16 bits to the high ones.
HWY_INLINE vector_u shifted_by_16(vector_u v) {
  const hn::Repartition<std::uint8_t, decltype(d32u)> bytes;
  alignas(16) static constexpr std::uint8_t from[] = {0x80, 0x80, 0, 1, 0x80, 0x80, 4,  5,
                                                      0x80, 0x80, 8, 9, 0x80, 0x80, 12, 13};
  return hn::BitCast(d32u,
                     hn::TableLookupBytes(hn::BitCast(bytes, v), hn::LoadDup128(bytes, from)));
}

/// 2^n − 1 for n up to max_low_bits.
HWY_INLINE vector_u low_mask(vector_u n) {
  const hn::Repartition<std::uint8_t, decltype(d32u)> bytes;
  alignas(16) static constexpr std::uint8_t masks[] = {0, 1, 3, 7, 0xf, 0x1f, 0x3f, 0,
                                                       0, 0, 0, 0, 0,   0,    0,    0};
  return hn::BitCast(d32u,
                     hn::TableLookupBytes(hn::LoadDup128(bytes, masks), hn::BitCast(bytes, n)));
}

/// Each bit of `yes` where the mask is set, else that of `no`.
HWY_INLINE vector_u select_bits(vector_u mask, vector_u yes, vector_u no) {
#if HWY_TARGET == HWY_AVX2
  return hn::Or(hn::And(mask, yes), hn::AndNot(mask, no));
#else
  return hn::IfVecThenElse(mask, yes, no);
#endif
}

/// Bit l: the answer for lane l.
HWY_INLINE std::uint32_t bits_of(hn::Mask<decltype(d32)> mask) {
#if HWY_TARGET == HWY_AVX2
  return static_cast<std::uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(mask.raw)));
#else
  return mask.raw;
#endif
}

/// A number in all lanes, hidden from the compiler, which would otherwise recompute it in each step
/// with three instructions.
HWY_INLINE vector constant(std::int32_t number) {
  asm("" : "+r"(number));
  return hn::Set(d32, number);
}

HWY_INLINE vector_u constant_u(std::uint32_t number) {
  return hn::BitCast(d32u, constant(static_cast<std::int32_t>(number)));
}

/// The step within a pair.
enum class parity : std::uint8_t { even, odd };

/// The encoder's choice for a group.
struct chosen_vectors {
  vector first_pair, second_pair;     // for odd steps: c1 | c2 << 16 and c3 | c4 << 16, times 16
  vector first_turned, second_turned; // for even steps: c2 | c1 << 16 and c4 | c3 << 16
  vector rest;                        // 32 minus the sum of the filter
  vector rounding;
  vector start;
  vector least_sum, most_sum, least_lead, one;
  vector_u ten_bits;
  vector_u whole_octave; // last octave of scales whose residuals are coded completely

  /// `groups`: as many as a vector has, each with its head.
  template <class Group>
  HWY_INLINE explicit chosen_vectors(const Group* groups)
      : least_sum(constant(4)), most_sum(constant(largest_sum)),
        least_lead(constant(lane_model::least_lead)), one(constant(1)), ten_bits(constant_u(0x3ff)),
        whole_octave(constant_u((scale_bias + small_scales) / 2 - 1)) {
    const auto all = [&](const auto& number) HWY_ATTR {
      return hn::BitCast(d32, joined([&](std::size_t n) HWY_ATTR {
                           return hn::Set(
                               of_group, static_cast<std::uint32_t>(number(groups[n].head.chosen)));
                         }));
    };
    const auto pair = [&](std::size_t low, std::size_t high) HWY_ATTR {
      return all([&](const choice& c) {
        return (static_cast<std::uint32_t>(c.filter[low] * 16) & 0xffff) |
               static_cast<std::uint32_t>(c.filter[high] * 16) << 16;
      });
    };
    first_pair = pair(0, 1);
    second_pair = pair(2, 3);
    first_turned = pair(1, 0);
    second_turned = pair(3, 2);
    rest = all(
        [](const choice& c) { return 32 - c.filter[0] - c.filter[1] - c.filter[2] - c.filter[3]; });
    rounding = hn::Set(d32, 256) - hn::ShiftLeft<3>(rest);
    static_assert(lane_model::first_level == 1 << 3);
    start = all([](const choice& c) { return start_scale(c.start); });
  }
};

/// lane_model for the lanes of a vector. It keeps samples in pairs of 16 bits for the instruction
/// that multiplies and adds pairs: after an odd step, the pair of this and the previous step; after
/// an even step, also with the later sample in the low bits.
class vector_model {
public:
  HWY_INLINE void begin(const chosen_vectors& chosen) {
    last_ = pair_ = pair_before_ = turned_ = turned_before_ = lead_ = hn::Zero(d32);
    level_ = hn::Set(d32, lane_model::first_level);
    fast_ = chosen.start;
    slow_ = hn::ShiftLeft<6>(chosen.start);
  }

  [[nodiscard]] HWY_INLINE vector last() const { return last_; }
  [[nodiscard]] HWY_INLINE auto last_is_better(const chosen_vectors& chosen) const {
    return lead_ > chosen.least_lead;
  }

  template <parity step>
  [[nodiscard]] HWY_INLINE vector filtered(const chosen_vectors& chosen) const {
    const vector sum = level_ * chosen.rest + chosen.rounding;
    if constexpr (step == parity::even)
      return filtered(sum, pair_, chosen.first_turned, pair_before_, chosen.second_turned);
    else
      return filtered(sum, turned_, chosen.first_pair, turned_before_, chosen.second_pair);
  }

  /// See scale_bias.
  [[nodiscard]] HWY_INLINE vector_u scale_bits(const chosen_vectors& chosen) const {
    const vector sum = fast_ + hn::ShiftRight<6>(slow_);
    const vector small = hn::Min(hn::Max(sum, chosen.least_sum), chosen.most_sum);
    return hn::BitCast(d32u, hn::ConvertTo(d32f, small));
  }

  /// `of_filter` and `of_last`: the sample minus the prediction. After an odd step, call
  /// end_pair.
  template <bool early, parity step>
  HWY_INLINE void learn(vector y, vector r, vector of_filter, vector of_last, std::uint32_t age) {
    const vector size = hn::Abs(r);
    const vector size_2 = size + size;
    fast_ = fast_ - hn::ShiftRight<2>(fast_) + (size_2 + size_2);
    slow_ = slow_ - hn::ShiftRight<6>(slow_) + hn::ShiftLeft<4>(size);
    lead_ = lead_ - hn::ShiftRight<3>(lead_) + (hn::Abs(of_filter) - hn::Abs(of_last));
    if constexpr (early) {
      const auto shift = static_cast<int>(lane_model::level_shift(age));
      level_ = level_ - hn::ShiftRightSame(level_, shift) + hn::ShiftLeftSame(y, 4 - shift);
    } else {
      level_ = level_ - hn::ShiftRight<4>(level_) + y;
    }
    if constexpr (step == parity::even) {
      turned_before_ = turned_;
      turned_ = hn::BitCast(d32, hn::OddEven(hn::BitCast(d16, pair_), hn::BitCast(d16, y)));
    }
    last_ = y;
  }

  /// Adds the samples of both steps.
  HWY_INLINE void end_pair(vector pair) {
    pair_before_ = pair_;
    pair_ = pair;
  }

private:
  [[nodiscard]] HWY_INLINE static vector filtered(vector sum, vector pair, vector filter,
                                                  vector pair_before, vector filter_before) {
    auto none = hn::Zero(d32);
    sum = hn::ReorderWidenMulAccumulate(d32, hn::BitCast(d16, pair), hn::BitCast(d16, filter), sum,
                                        none);
    sum = hn::ReorderWidenMulAccumulate(d32, hn::BitCast(d16, pair_before),
                                        hn::BitCast(d16, filter_before), sum, none);
    return hn::ShiftRight<9>(sum);
  }

  vector last_, level_, lead_, fast_, slow_;
  vector pair_, pair_before_;     // the earlier sample in the low bits
  vector turned_, turned_before_; // the later sample in the low bits
};

/// The number of low bits of a residual that are stored uncoded.
HWY_INLINE vector_u low_bits_of(vector_u scale_bits, const chosen_vectors& chosen) {
  const auto octave = hn::ShiftRight<23>(scale_bits);
  return hn::Max(octave, chosen.whole_octave) - chosen.whole_octave;
}

/// Runs begin(i) for steps in which a piece of a waveform begins, step(early, parity, i,
/// age) for others, and end_pair(i) after every second step, for steps 2 i and 2 i + 1.
/// Steps are always inline: a separate function would load and store the model's vectors in
/// memory.
template <class Begin, class Step, class EndPair>
HWY_INLINE void for_steps(shape of, Begin begin, Step step, EndPair end_pair) {
  constexpr std::uint32_t early = 8; // from this age on, level_shift is constant
  const std::integral_constant<parity, parity::even> even;
  const std::integral_constant<parity, parity::odd> odd;
  const auto pair = [&](auto is_early, std::uint32_t i, std::uint32_t age) HWY_ATTR
      __attribute__((always_inline)) {
    step(is_early, even, i, age);
    step(is_early, odd, i + 1, age + 1);
    end_pair(i / 2);
  };
  const std::uint32_t piece = of == shape::short_ones ? record_samples : lane_samples;
  for (std::uint32_t first = 0; first < lane_samples; first += piece) {
    begin(first);
    step(std::true_type(), odd, first + 1, 1);
    end_pair(first / 2);
    for (std::uint32_t age = 2; age < early; age += 2) pair(std::true_type(), first + age, age);
    for (std::uint32_t age = early; age < piece; age += 2)
      pair(std::false_type(), first + age, age);
  }
}

/// Transposes eight rows of eight numbers.
HWY_INLINE void transpose(group_vector (&r)[lanes]) {
  const auto turn = [](auto d, group_vector a, group_vector b, group_vector& low,
                       group_vector& high) HWY_ATTR {
    const auto x = hn::BitCast(d, a);
    const auto y = hn::BitCast(d, b);
    low = hn::BitCast(of_group, hn::InterleaveLower(d, x, y));
    high = hn::BitCast(of_group, hn::InterleaveUpper(d, x, y));
  };
  const hn::FixedTag<std::uint64_t, 4> pairs;
  group_vector a[lanes];
  group_vector b[lanes];
  for (std::size_t i = 0; i < lanes; i += 2) turn(of_group, r[i], r[i + 1], a[i], a[i + 1]);
  for (std::size_t i = 0; i < lanes; i += 4) {
    turn(pairs, a[i], a[i + 2], b[i], b[i + 1]);
    turn(pairs, a[i + 1], a[i + 3], b[i + 2], b[i + 3]);
  }
  for (std::size_t i = 0; i < lanes / 2; ++i) {
    r[i] = hn::ConcatLowerLower(of_group, b[i + 4], b[i]);
    r[i + 4] = hn::ConcatUpperUpper(of_group, b[i + 4], b[i]);
  }
}

#endif

} // namespace HWY_NAMESPACE
} // namespace l3::strong
HWY_AFTER_NAMESPACE();

#endif
