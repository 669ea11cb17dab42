// SPDX-License-Identifier: Apache-2.0
// Decodes groups of the strong codec with vector instructions, compiled for each set: several
// groups in parallel, each with the steps of strong::decode_group. Words are read without checking
// the end of their group, from a copy with extra room: a damaged group gives garbage, and is
// detected by where its last step ends.
#if defined(L3_STRONG_DECODE_SIMD) == defined(HWY_TARGET_TOGGLE)
#ifdef L3_STRONG_DECODE_SIMD
#undef L3_STRONG_DECODE_SIMD
#else
#define L3_STRONG_DECODE_SIMD
#endif

#include "gpu/codec/strong_portable.hpp"
#include "gpu/codec/strong_shuffles.hpp"
#include "gpu/codec/strong_simd.hpp"

HWY_BEFORE_NAMESPACE();
namespace l3::strong {
namespace HWY_NAMESPACE {

#if HWY_TARGET & (HWY_AVX2 | HWY_AVX3 | HWY_AVX3_DL)

/// A group to decode, and its words.
struct coded_group {
  const std::byte* in = nullptr;
  std::uint32_t bytes = 0;
  std::uint16_t* samples = nullptr;

  group_head head;
  std::uint32_t states[lanes];
  const std::byte* end = nullptr; // end of the words
  bool good = false;
  alignas(16) std::byte words[2 * (max_words + lanes)]; // room for any steps and the last load

  /// Reads head and states. A damaged group becomes one that decodes to garbage.
  void open(shape of) {
    const std::uint32_t at = load_head(in, bytes, of, head, states);
    good = at != 0;
    if (!good) std::fill(states, states + lanes, least_state);
    const std::uint32_t n = good ? bytes - at : 0;
    memcpy(words, in + at, n);
    end = words + n;
  }
};

/// The coders of the lanes of a vector.
struct vector_decoder {
  const std::byte* word[vector_groups]; // the next word of each group
  chosen_vectors chosen;
  vector_model model;
  vector_u states;
  vector pair; // the samples of the last two steps
  vector_u row_mask;
  vector_u quotient_bit;
  vector_u least;
  vector escapes_end;

  HWY_INLINE explicit vector_decoder(const coded_group* groups)
      : chosen(groups),
        states(
            joined([&](std::size_t n) HWY_ATTR { return hn::LoadU(of_group, groups[n].states); })),
        pair(hn::Zero(d32)), row_mask(constant_u(~(table_slots - 1))), quotient_bit(constant_u(22)),
        least(constant_u(least_state)), escapes_end(constant(end_of_escapes)) {
    for (std::size_t n = 0; n < vector_groups; ++n) word[n] = groups[n].words;
  }

  template <bool early, parity of>
  HWY_INLINE void step(std::uint32_t age) {
    const vector filtered = model.filtered<of>(chosen);
    const vector best = hn::IfThenElse(model.last_is_better(chosen), model.last(), filtered);
    const vector_u scale = model.scale_bits(chosen);
    const vector_u low_bits = low_bits_of(scale, chosen);
    const vector_u high = states >> low_bits;
    const vector_u slot =
        look_up(biased<table_slots>(symbols.of_slot),
                select_bits(row_mask, hn::ShiftRight<22 - table_bits>(scale), high));
    // The low bits of the state fill up those of the quotient, which begins at bit 22.
    const vector quotient = hn::BitCast(d32, slot) >> hn::BitCast(d32, quotient_bit - low_bits);
    vector r =
        hn::BitCast(d32, select_bits(low_mask(low_bits), states, hn::BitCast(d32u, quotient)));
    states = hn::And(slot, chosen.ten_bits) * hn::ShiftRight<table_bits>(high) +
             hn::And(hn::ShiftRight<10>(slot), chosen.ten_bits);
    refill();
    const auto escaped = hn::BitCast(d32, slot) < escapes_end;
    if (const std::uint32_t set = bits_of(escaped); HWY_UNLIKELY(set != 0))
      r = hn::IfThenElse(escaped, low_16_bits(hn::BitCast(d32, words(set)), chosen.one), r);

    const vector y = low_16_bits(best + r, chosen.one);
    const vector of_last = y - model.last();
    if constexpr (of == parity::odd) {
      const auto up = hn::BitCast(d16, shifted_by_16(hn::BitCast(d32u, y)));
      pair = hn::BitCast(d32, hn::OddEven(up, hn::BitCast(d16, model.last())));
    }
    model.learn<early, of>(y, r, y - filtered, of_last, age);
  }

  /// Lanes with small states take words.
  HWY_INLINE void refill() {
#if HWY_TARGET == HWY_AVX2
    // Halves are compared: that of the high one is the sign of its lane.
    const auto halves = hn::BitCast(d16, states) == hn::Zero(d16);
    const auto small = hn::BitCast(d32f, hn::VecFromMask(d16, halves));
    const auto shifted = hn::BitCast(d32f, shifted_by_16(states));
    const auto kept = hn::IfThenElse(hn::MaskFromVec(small), shifted, hn::BitCast(d32f, states));
    const auto in_need = static_cast<std::uint32_t>(_mm256_movemask_ps(small.raw));
    states = hn::Or(hn::BitCast(d32u, kept), words(in_need));
#else
    const auto small = states < least;
    const auto kept = hn::IfThenElse(small, hn::ShiftLeft<16>(states), states);
    states = hn::Or(kept, words(bits_of(hn::RebindMask(d32, small))));
#endif
  }

  HWY_INLINE void end_pair(lane_rows& rows, std::uint32_t i) {
    hn::Store(hn::BitCast(d32u, pair), d32u, rows.of[i]);
    model.end_pair(pair);
  }

  /// Loads the next words into the lanes of the set.
  [[nodiscard]] HWY_INLINE vector_u words(std::uint32_t set) {
    return joined([&](std::size_t n) HWY_ATTR {
      const hn::Repartition<std::uint8_t, decltype(of_group)> bytes;
      const std::uint32_t of = set >> (lanes * n) & 0xff;
      const auto next = hn::LoadDup128(bytes, reinterpret_cast<const std::uint8_t*>(word[n]));
      const auto spread = hn::Load(bytes, shuffles.spread[of]);
      word[n] += sizeof(std::uint16_t) * static_cast<std::size_t>(std::popcount(of));
      return hn::BitCast(of_group, hn::TableLookupBytesOr0(next, spread));
    });
  }
};

/// Converts the rows of group n of a vector back to samples, lane by lane.
HWY_INLINE void store_samples(const coded_group& g, const lane_rows& rows, std::size_t n, shape of,
                              const std::uint16_t* first) {
  const hn::Repartition<std::uint16_t, decltype(of_group)> samples;
  const std::uint32_t pieces = first_samples(of) / lanes;
  constexpr std::uint32_t columns = 2 * lanes; // of a square: samples of a lane
  for (std::uint32_t i = 0; i < lane_samples; i += columns) {
    group_vector square[lanes];
    for (std::uint32_t k = 0; k < lanes; ++k)
      square[k] = hn::Load(of_group, rows.of[i / 2 + k] + n * lanes);
    transpose(square);
    const std::uint32_t piece = i / (lane_samples / pieces);
    for (std::uint32_t l = 0; l < lanes; ++l)
      hn::StoreU(hn::BitCast(samples, square[l]) + hn::Set(samples, first[l * pieces + piece]),
                 samples, g.samples + l * lane_samples + i);
  }
}

/// Call it after the last step.
HWY_INLINE void close(coded_group* groups, const vector_decoder& decoder, const lane_rows& rows,
                      shape of) {
  for (std::size_t n = 0; n < vector_groups; ++n) {
    coded_group& g = groups[n];
    hn::StoreU(part(decoder.states, n), of_group, g.states);
    std::uint16_t first[group_records];
    g.good =
        g.good && decoder.word[n] == g.end && unfold_first_samples(g.head, of, g.states, first);
    if (g.good) store_samples(g, rows, n, of, first);
  }
}

/// Decodes the groups of a vector for each number, and records in each group whether it was valid.
template <std::size_t... n>
void decode_bundle(coded_group* groups, shape of, std::index_sequence<n...>) {
  for (std::size_t k = 0; k < sizeof...(n) * vector_groups; ++k) groups[k].open(of);
  vector_decoder decoders[] = {vector_decoder(groups + n * vector_groups)...};
  lane_rows rows[sizeof...(n)];
  for_steps(
      of, [&](std::uint32_t) HWY_ATTR { (decoders[n].model.begin(decoders[n].chosen), ...); },
      [&](auto early, auto parity, std::uint32_t, std::uint32_t age) HWY_ATTR __attribute__((
          always_inline)) { (decoders[n].template step<early.value, parity.value>(age), ...); },
      [&](std::uint32_t i) HWY_ATTR { (decoders[n].end_pair(rows[n], i), ...); });
  (close(groups + n * vector_groups, decoders[n], rows[n], of), ...);
}

decode_result decode_groups(std::span<const std::byte> groups, shape of,
                            std::span<std::uint16_t> samples) {
  portable::check_decode(samples);
  const std::size_t room = samples.size() / group_samples;
  coded_group waiting[bundle_groups]; // decoded together
  std::size_t place[bundle_groups];   // number of each
  std::size_t n = 0;
  decode_result good; // before the first waiting group
  decode_result r;    // including the waiting groups
  const auto decode_waiting = [&] HWY_ATTR {
    if (n == 0) return true;
    for (std::size_t k = n; k < bundle_groups; ++k) {
      waiting[k].in = waiting[0].in;
      waiting[k].bytes = waiting[0].bytes;
      waiting[k].samples = waiting[0].samples;
    }
    if (n <= vector_groups)
      decode_bundle(waiting, of, std::make_index_sequence<1>());
    else
      decode_bundle(waiting, of, std::make_index_sequence<bundle_vectors>());
    for (std::size_t k = 0; k < n; ++k) {
      if (waiting[k].good) continue;
      good.groups = place[k];
      good.bytes = static_cast<std::size_t>(waiting[k].in - groups.data());
      good.damaged = true;
      return false;
    }
    n = 0;
    return true;
  };
  while (r.groups < room && r.bytes < groups.size()) {
    const std::byte* const in = groups.data() + r.bytes;
    std::uint16_t* const to = samples.data() + r.groups * group_samples;
    const std::uint32_t bytes = group_bytes(in, groups.size() - r.bytes);
    const bool raw = bytes != 0 && is_raw(in);
    if (bytes == 0 || (raw && !decode_group(in, bytes, of, to))) {
      r.damaged = true;
      break;
    }
    if (!raw) {
      // Decoding takes longer than the lines of the samples need to come from memory.
      constexpr std::uint32_t cache_line = 64;
      for (std::uint32_t i = 0; i < group_samples; i += cache_line / sizeof *to)
        __builtin_prefetch(to + i, 1);
      waiting[n].in = in;
      waiting[n].bytes = bytes;
      waiting[n].samples = to;
      place[n++] = r.groups;
    }
    r.bytes += bytes;
    ++r.groups;
    if (n == bundle_groups && !decode_waiting()) return good;
  }
  return decode_waiting() ? r : good;
}

#else

inline decode_result decode_groups(std::span<const std::byte> groups, shape of,
                                   std::span<std::uint16_t> samples) {
  return portable::decode(groups, of, samples);
}

#endif

} // namespace HWY_NAMESPACE
} // namespace l3::strong
HWY_AFTER_NAMESPACE();

#endif
