// SPDX-License-Identifier: Apache-2.0
// Decoding groups of the strong codec with vectors, compiled once for each instruction set: several
// groups side by side, each by the steps of strong::decode_group. Words are read without a look at
// the end of their group, from a copy with room behind: a damaged group reads garbage, and is told
// by the place at which its last step ends.
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

/// A group that is to be decoded, and its words.
struct coded_group {
  const std::byte* in = nullptr;
  std::uint32_t bytes = 0;
  std::uint16_t* samples = nullptr;

  group_head head;
  std::uint32_t states[lanes];
  const std::byte* word = nullptr; // the next one
  const std::byte* end = nullptr;  // of the words
  bool good = false;
  alignas(16) std::byte words[2 * (max_words + lanes)]; // what any steps take, and the last load

  /// Reads head and states. Of a damaged group it makes one that can be decoded to garbage.
  void open(shape of) {
    const std::uint32_t at = load_head(in, bytes, of, head, states);
    good = at != 0;
    if (!good) std::fill(states, states + lanes, least_state);
    const std::uint32_t n = good ? bytes - at : 0;
    memcpy(words, in + at, n);
    word = words;
    end = words + n;
  }
};

/// The next words of a group, each in its lane, for the lanes that need one.
HWY_INLINE group_row take_words(coded_group& g, std::uint32_t lanes_in_need) {
  const hn::FixedTag<std::uint8_t, 16> bytes;
  const auto next = hn::LoadU(bytes, reinterpret_cast<const std::uint8_t*>(g.word));
  const auto spread = hn::Load(bytes, shuffles.spread[lanes_in_need]);
  g.word += sizeof(std::uint16_t) * static_cast<std::size_t>(std::popcount(lanes_in_need));
  return hn::BitCast(d16_group, hn::TableLookupBytesOr0(next, spread));
}

/// Replaces the residuals that did not fit their tables.
HWY_NOINLINE vector take_escapes(vector r, coded_group* groups, std::uint32_t escaped) {
  alignas(64) std::int32_t values[vector_lanes];
  hn::Store(r, d32, values);
  for (; escaped != 0; escaped &= escaped - 1) {
    const auto l = static_cast<std::uint32_t>(std::countr_zero(escaped));
    coded_group& g = groups[l / lanes];
    values[l] = load<std::int16_t>(g.word);
    g.word += sizeof(std::uint16_t);
  }
  return hn::Load(d32, values);
}

/// The coders of the lanes of a vector.
struct vector_decoder {
  coded_group* groups; // groups_of_vector
  chosen_vectors chosen;
  vector_model model;
  vector_u states;
  vector_u row_mask;
  vector_u most_in_need;
  vector escapes_end;

  HWY_INLINE vector_decoder(coded_group* of, const choice* const* choices,
                            const std::uint32_t* first_states)
      : groups(of), chosen(choices), states(hn::Load(d32u, first_states)),
        row_mask(constant_u(~(table_slots - 1))), most_in_need(constant_u(least_state - 1)),
        escapes_end(constant(end_of_escapes)) {}

  template <bool early>
  HWY_INLINE void step(std::uint32_t age, std::int16_t* row) {
    const vector filtered = model.filtered(chosen);
    const vector best = hn::IfThenElse(model.last_is_better(chosen), model.last(), filtered);
    const vector_u scale = model.scale_bits(chosen);
    const vector_u low_bits = low_bits_of(scale, chosen);
    const vector_u high = states >> low_bits;
    const vector_u mask = low_mask(low_bits);
    const vector_u low = hn::And(mask, states);
    const vector_u row_of_scale = hn::And(hn::ShiftRight<22 - table_bits>(scale), row_mask);
    const vector_u slot = look_up(biased<table_slots>(symbols.of_slot),
                                  hn::Or(row_of_scale, hn::And(high, chosen.ten_bits)));
    states = hn::And(slot, chosen.ten_bits) * hn::ShiftRight<table_bits>(high) +
             hn::And(hn::ShiftRight<10>(slot), chosen.ten_bits);
    const vector quotient = hn::ShiftRight<22>(hn::BitCast(d32, slot));
    const vector unit = hn::BitCast(d32, mask) + chosen.one; // 2^low_bits
    vector r = multiply_16_bits(quotient, unit) + hn::BitCast(d32, low);

    const auto in_need = hn::Min(states, most_in_need) == states;
    states = hn::Or(hn::IfThenElse(in_need, shifted_by_16(states), states),
                    words(bits_of(hn::RebindMask(d32, in_need))));
    const std::uint32_t escaped = bits_of(hn::BitCast(d32, slot) < escapes_end);
    if (HWY_UNLIKELY(escaped != 0)) r = take_escapes(r, groups, escaped);

    const vector y = low_16_bits(best + r, chosen.one);
    hn::StoreU(hn::DemoteTo(d16_row, y), d16_row, row);
    model.template learn<early>(y, r, y - filtered, y - model.last(), age);
  }

  [[nodiscard]] HWY_INLINE vector_u words(std::uint32_t in_need) const {
#if HWY_TARGET == HWY_AVX2
    return hn::PromoteTo(d32u, take_words(groups[0], in_need));
#else
    const hn::FixedTag<std::uint16_t, vector_lanes> row;
    const auto first = take_words(groups[0], in_need & 0xff);
    const auto second = take_words(groups[1], in_need >> 8);
    return hn::PromoteTo(d32u, hn::Combine(row, second, first));
#endif
  }
};

/// The rows of a group back to samples, lane by lane.
HWY_INLINE void store_samples(const coded_group& g, const lane_rows& rows, std::size_t first_lane,
                              shape of, const std::uint16_t* first) {
  const std::uint32_t pieces = first_samples(of) / lanes;
  for (std::uint32_t i = 0; i < lane_samples; i += lanes) {
    group_row square[lanes];
    for (std::uint32_t k = 0; k < lanes; ++k)
      square[k] = hn::BitCast(
          d16_group, hn::LoadU(hn::FixedTag<std::int16_t, lanes>(), rows.of[i + k] + first_lane));
    transpose(square);
    const std::uint32_t piece = i / (lane_samples / pieces);
    for (std::uint32_t l = 0; l < lanes; ++l)
      hn::StoreU(square[l] + hn::Set(d16_group, first[l * pieces + piece]), d16_group,
                 g.samples + l * lane_samples + i);
  }
}

/// The decoder of the groups of a vector.
HWY_INLINE vector_decoder decoder_of(coded_group* groups, shape of) {
  const choice* chosen[groups_of_vector];
  alignas(64) std::uint32_t states[vector_lanes];
  for (std::size_t k = 0; k < groups_of_vector; ++k) {
    groups[k].open(of);
    chosen[k] = &groups[k].head.chosen;
    std::copy(groups[k].states, groups[k].states + lanes, states + k * lanes);
  }
  return {groups, chosen, states};
}

/// After the last step.
HWY_INLINE void close(const vector_decoder& decoder, const lane_rows& rows, shape of) {
  alignas(64) std::uint32_t states[vector_lanes];
  hn::Store(decoder.states, d32u, states);
  for (std::size_t k = 0; k < groups_of_vector; ++k) {
    coded_group& g = decoder.groups[k];
    std::uint16_t first[group_records];
    g.good =
        g.good && g.word == g.end && unfold_first_samples(g.head, of, states + k * lanes, first);
    if (g.good) store_samples(g, rows, k * lanes, of, first);
  }
}

/// Decodes the groups of as many vectors as there are numbers; says in each group whether it was
/// good.
template <std::size_t... v>
void decode_bundle(coded_group* groups, shape of, std::index_sequence<v...>) {
  vector_decoder decoders[] = {decoder_of(groups + v * groups_of_vector, of)...};
  lane_rows rows[sizeof...(v)];
  for_steps(
      of,
      [&](std::uint32_t i) HWY_ATTR {
        (decoders[v].model.begin(decoders[v].chosen), ...);
        (hn::StoreU(hn::Zero(d16_row), d16_row, rows[v].of[i]), ...);
      },
      [&](auto early, std::uint32_t i, std::uint32_t age)
          HWY_ATTR { (decoders[v].template step<early.value>(age, rows[v].of[i]), ...); });
  (close(decoders[v], rows[v], of), ...);
}

decode_result decode_groups(std::span<const std::byte> groups, shape of,
                            std::span<std::uint16_t> samples) {
  portable::check_decode(samples);
  const std::size_t room = samples.size() / group_samples;
  coded_group waiting[bundle_groups]; // to be decoded together
  std::size_t place[bundle_groups];   // of each: its number
  std::size_t n = 0;
  decode_result good; // before the first that waits
  decode_result r;    // with those that wait
  const auto decode_waiting = [&] HWY_ATTR {
    if (n == 0) return true;
    for (std::size_t k = n; k < bundle_groups; ++k) {
      waiting[k].in = waiting[0].in;
      waiting[k].bytes = waiting[0].bytes;
      waiting[k].samples = waiting[0].samples;
    }
    if (n <= groups_of_vector)
      decode_bundle(waiting, of, std::make_index_sequence<1>());
    else
      decode_bundle(waiting, of, std::make_index_sequence<vectors>());
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
