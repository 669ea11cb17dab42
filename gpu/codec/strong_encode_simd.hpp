// SPDX-License-Identifier: Apache-2.0
// Encodes groups of the strong codec with vector instructions, compiled for each set: several
// groups in parallel, each with the steps of strong::encode_group.
#if defined(L3_STRONG_ENCODE_SIMD) == defined(HWY_TARGET_TOGGLE)
#ifdef L3_STRONG_ENCODE_SIMD
#undef L3_STRONG_ENCODE_SIMD
#else
#define L3_STRONG_ENCODE_SIMD
#endif

#include "gpu/codec/strong_choice_simd.hpp"
#include "gpu/codec/strong_portable.hpp"
#include "gpu/codec/strong_shuffles.hpp"
#include "gpu/codec/strong_simd.hpp"

HWY_BEFORE_NAMESPACE();
namespace l3::strong {
namespace HWY_NAMESPACE {

#if HWY_TARGET & (HWY_AVX2 | HWY_AVX3 | HWY_AVX3_DL)

/// A group to encode, and its words, which are written from the end.
struct plain_group {
  const std::uint16_t* samples = nullptr;
  group_head head;
  std::uint32_t states[lanes];
  std::uint16_t words[lanes + max_words]; // the first ones are only overwritten
  std::uint16_t* word = nullptr;          // the last written word

  void open(shape of) {
    head.chosen = choose_with_vectors(samples);
    detail::fold_first_samples(samples, of, head);
    for (std::uint32_t l = 0; l < lanes; ++l)
      states[l] = least_state + detail::carried(head, of, l);
    word = words + lanes + max_words;
  }

  /// Writes the group; returns its length.
  [[nodiscard]] std::uint32_t close(shape of, std::byte* out) const {
    const auto n = static_cast<std::uint32_t>(words + lanes + max_words - word);
    return detail::store_group(samples, head, of, states, word, n, out);
  }
};

/// Loads samples lane by lane into the rows of group n of a vector, minus the first of their piece.
HWY_INLINE void load_rows(const std::uint16_t* from, shape of, lane_rows& rows, std::size_t n) {
  const hn::Repartition<std::uint16_t, decltype(of_group)> samples;
  const std::uint32_t piece = group_samples / first_samples(of);
  constexpr std::uint32_t columns = 2 * lanes; // of a square: samples of a lane
  for (std::uint32_t i = 0; i < lane_samples; i += columns) {
    group_vector square[lanes];
    for (std::uint32_t l = 0; l < lanes; ++l) {
      const std::uint16_t* const lane = from + l * lane_samples;
      const auto less_first =
          hn::LoadU(samples, lane + i) - hn::Set(samples, lane[i / piece * piece]);
      square[l] = hn::BitCast(of_group, less_first);
    }
    transpose(square);
    for (std::uint32_t k = 0; k < lanes; ++k)
      hn::Store(square[k], of_group, rows.of[i / 2 + k] + n * lanes);
  }
}

/// Rounds to zero. The numbers are small enough to need no correction.
HWY_INLINE vector_u truncated(hn::Vec<decltype(d32f)> number) {
#if HWY_TARGET == HWY_AVX3_DL
  return vector_u{_mm512_cvttps_epi32(number.raw)};
#else
  return vector_u{_mm256_cvttps_epi32(number.raw)};
#endif
}

/// The coded values of the steps.
struct lane_residuals {
  lane_rows rows; ///< samples
  /// Residuals of the steps with an escape in a lane, in order.
  alignas(64) std::uint32_t escapes[lane_samples + 1][vector_lanes];
  std::size_t escape_steps = 0;
  /// Entries of symbols.of_symbol, with the low bits at bit 24.
  alignas(64) std::uint32_t entries[lane_samples][vector_lanes];
};

/// The lanes of a vector, step by step: first all residuals are computed, from the first to the
/// last, then they are pushed into the coders, the last first.
struct vector_encoder {
  std::uint16_t* word[vector_groups]; // the last written word of each group
  chosen_vectors chosen;
  vector_model model;
  vector_u states;
  vector_u last_symbol, row_mask, seven, free_bits;
  vector slots;
  hn::Vec<decltype(d32f)> two;

  HWY_INLINE explicit vector_encoder(const plain_group* groups)
      : chosen(groups),
        states(
            joined([&](std::size_t n) HWY_ATTR { return hn::LoadU(of_group, groups[n].states); })),
        last_symbol(constant_u(max_symbols - 1)), row_mask(constant_u(~(max_symbols - 1))),
        seven(constant_u(7)), free_bits(constant_u(32 - table_bits)), slots(constant(table_slots)),
        two(hn::ConvertTo(d32f, constant(2))) {
    for (std::size_t n = 0; n < vector_groups; ++n) word[n] = groups[n].word;
  }

  template <bool early, parity of>
  HWY_INLINE void model_step(lane_residuals& to, std::uint32_t i, std::uint32_t age) {
    const vector pair = hn::BitCast(d32, hn::Load(d32u, to.rows.of[i / 2]));
    const vector y = of == parity::even ? low_16_bits(pair, chosen.one) : hn::ShiftRight<16>(pair);
    const vector of_filter = y - model.filtered<of>(chosen);
    const vector of_last = y - model.last();
    const vector r =
        low_16_bits(hn::IfThenElse(model.last_is_better(chosen), of_last, of_filter), chosen.one);
    const vector_u scale = model.scale_bits(chosen);
    const vector_u low_bits = low_bits_of(scale, chosen);
    const vector quotient = r >> hn::BitCast(d32, low_bits);
    const vector_u folded = hn::BitCast(d32u, hn::Xor(quotient + quotient, hn::ShiftRight<31>(r)));
    const vector_u symbol = hn::Min(folded, last_symbol);
    constexpr int symbol_bits = std::bit_width(max_symbols - 1);
    const vector_u row_of_scale = hn::And(hn::ShiftRight<22 - symbol_bits>(scale), row_mask);
    const vector_u entry =
        look_up(biased<max_symbols>(symbols.of_symbol), hn::Or(row_of_scale, symbol));
    const vector_u low = hn::And(low_mask(low_bits), hn::BitCast(d32u, r));
    hn::Store(hn::Or(entry, hn::ShiftLeft<24>(low)), d32u, to.entries[i]);
    hn::Store(hn::BitCast(d32u, r), d32u,
              to.escapes[to.escape_steps]); // overwritten unless there is an escape
    to.escape_steps += bits_of(hn::BitCast(d32, entry) < hn::Zero(d32)) != 0 ? 1 : 0;
    model.learn<early, of>(y, r, of_filter, of_last, age);
  }

  HWY_INLINE void end_pair(const lane_residuals& to, std::uint32_t i) {
    model.end_pair(hn::BitCast(d32, hn::Load(d32u, to.rows.of[i])));
  }

  HWY_INLINE void push_step(lane_residuals& from, std::uint32_t i) {
    const vector_u entry = hn::Load(d32u, from.entries[i]);
    const std::uint32_t escaped = bits_of(hn::BitCast(d32, entry) < hn::Zero(d32));
    if (HWY_UNLIKELY(escaped != 0))
      write_words(hn::Load(d32u, from.escapes[--from.escape_steps]), escaped);

    const vector_u frequency = hn::And(entry, chosen.ten_bits);
    const vector_u sum = hn::And(hn::ShiftRight<10>(entry), chosen.ten_bits);
    const vector_u low_bits = hn::And(hn::ShiftRight<20>(entry), seven);
    const vector_u low = hn::And(hn::ShiftRight<24>(entry), last_symbol);
    const vector_u limit = frequency << (free_bits - low_bits);
    const auto full = hn::Max(states, limit) == states;
    write_words(states, bits_of(hn::RebindMask(d32, full)));
    states = hn::IfThenElse(full, hn::ShiftRight<16>(states), states);

    // The quotient is below 2^22. With three roundings, and without the lowest bit of the state,
    // its estimate is wrong by less than 1, and its integer part by at most 1.
    const auto per_two = two / hn::ConvertTo(d32f, hn::BitCast(d32, frequency));
    const vector half = hn::BitCast(d32, hn::ShiftRight<1>(states));
    const vector_u quotient = truncated(hn::ConvertTo(d32f, half) * per_two);
    const vector rest = hn::BitCast(d32, states - quotient * frequency);
    const vector signed_frequency = hn::BitCast(d32, frequency);
    const vector other = slots - signed_frequency; // for a quotient larger by one
    vector high = hn::BitCast(d32, hn::ShiftLeft<table_bits>(quotient) + sum) + rest;
    high = high - hn::And(hn::ShiftRight<31>(rest), other);
    high = high + hn::IfThenZeroElse(rest < signed_frequency, other);
    states = hn::Or(hn::BitCast(d32u, high) << low_bits, low);
  }

  /// Call it after the last step.
  HWY_INLINE void close(plain_group* groups) const {
    for (std::size_t n = 0; n < vector_groups; ++n) {
      hn::StoreU(part(states, n), of_group, groups[n].states);
      groups[n].word = word[n];
    }
  }

private:
  /// Writes the low halves of the lanes of the set in front of the earlier words.
  HWY_INLINE void write_words(vector_u from, std::uint32_t set) {
    const hn::FixedTag<std::uint8_t, 2 * lanes> bytes;
    for (std::size_t n = 0; n < vector_groups; ++n) {
      const std::uint32_t of = set >> (lanes * n) & 0xff;
#if HWY_TARGET == HWY_AVX3_DL // whose TruncateTo is wrong in Highway 1.0.3
      const hn::Vec<decltype(bytes)> halves{_mm256_cvtepi32_epi16(part(from, n).raw)};
#else
      const hn::FixedTag<std::uint16_t, lanes> row;
      const auto halves = hn::BitCast(bytes, hn::TruncateTo(row, part(from, n)));
#endif
      const auto gathered = hn::TableLookupBytes(halves, hn::Load(bytes, shuffles.gather[of]));
      hn::StoreU(gathered, bytes, reinterpret_cast<std::uint8_t*>(word[n] - lanes));
      word[n] -= std::popcount(of);
    }
  }
};

/// Encodes the groups of a vector for each number.
template <std::size_t... n>
void encode_bundle(plain_group* groups, shape of, std::index_sequence<n...>) {
  lane_residuals residuals[sizeof...(n)];
  for (std::size_t k = 0; k < sizeof...(n) * vector_groups; ++k) {
    groups[k].open(of);
    load_rows(groups[k].samples, of, residuals[k / vector_groups].rows, k % vector_groups);
  }
  vector_encoder encoders[] = {vector_encoder(groups + n * vector_groups)...};
  for_steps(
      of, [&](std::uint32_t) HWY_ATTR { (encoders[n].model.begin(encoders[n].chosen), ...); },
      [&](auto early, auto parity, std::uint32_t i, std::uint32_t age) HWY_ATTR
      __attribute__((always_inline)) {
        (encoders[n].template model_step<early.value, parity.value>(residuals[n], i, age), ...);
      },
      [&](std::uint32_t i) HWY_ATTR { (encoders[n].end_pair(residuals[n], i), ...); });
  for (std::uint32_t i = lane_samples; i-- != 0;)
    if (codes(i, of)) (encoders[n].push_step(residuals[n], i), ...);
  (encoders[n].close(groups + n * vector_groups), ...);
}

std::size_t encode_groups(std::span<const std::uint16_t> samples, shape of,
                          std::span<std::byte> out) {
  portable::check_encode(samples, out);
  const std::size_t all = samples.size() / group_samples;
  plain_group groups[bundle_groups];
  std::size_t used = 0;
  for (std::size_t first = 0; first < all; first += bundle_groups) {
    const std::size_t n = std::min(all - first, bundle_groups);
    for (std::size_t k = 0; k < bundle_groups; ++k)
      groups[k].samples = samples.data() + (first + std::min(k, n - 1)) * group_samples;
    if (n <= vector_groups)
      encode_bundle(groups, of, std::make_index_sequence<1>());
    else
      encode_bundle(groups, of, std::make_index_sequence<bundle_vectors>());
    for (std::size_t k = 0; k < n; ++k) used += groups[k].close(of, out.data() + used);
  }
  return used;
}

#else

inline std::size_t encode_groups(std::span<const std::uint16_t> samples, shape of,
                                 std::span<std::byte> out) {
  return portable::encode(samples, of, out);
}

#endif

} // namespace HWY_NAMESPACE
} // namespace l3::strong
HWY_AFTER_NAMESPACE();

#endif
