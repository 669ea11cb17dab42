// SPDX-License-Identifier: Apache-2.0
// The strong codec (docs/formats.md, section 5b): a lossless group of 16 records of 64 samples, as
// in a board, that is smaller than KOTO records. Eight lanes code 128 samples each in parallel:
// every lane predicts its next sample from earlier ones and their prediction errors, and codes the
// residual by a range coder (rANS) whose 16-bit words all lanes share. So vector instructions or
// eight threads can code a group together, without data from outside it. This is the portable form
// and the reference of the others (strong_groups.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "gpu/codec/strong_choice.hpp"
#include "gpu/codec/strong_model.hpp"
#include "gpu/codec/strong_tables.hpp"
#include "transport/format/endian.hpp"

namespace l3::strong {

inline constexpr std::uint32_t group_samples = group_records * record_samples;
inline constexpr std::uint32_t group_sample_bytes = group_samples * sizeof(std::uint16_t);
inline constexpr std::uint32_t lanes = 8;
inline constexpr std::uint32_t lane_samples = group_samples / lanes;

inline constexpr std::uint32_t length_bytes = 2;
inline constexpr std::uint32_t max_coded_bytes = 2047; // after the length; larger groups are raw
inline constexpr std::uint32_t max_group_bytes = length_bytes + group_sample_bytes;

inline constexpr std::uint32_t least_state = 1U << 16; // of a lane's coder, between two steps

/// The division of a group's samples into waveforms.
enum class shape : std::uint8_t {
  short_ones, ///< each 64 samples are a waveform: the model restarts in the middle of each lane
  long_ones,  ///< all 128 samples of a lane belong to one waveform
};

/// Whether the lanes code a residual in this step; otherwise a waveform or its part begins.
[[nodiscard]] L3_FN constexpr bool codes(std::uint32_t step, shape of) {
  return step % (of == shape::short_ones ? record_samples : lane_samples) != 0;
}

/// The number of first samples in the head; also how many bits of them start a lane's coder.
[[nodiscard]] L3_FN constexpr std::uint32_t first_samples(shape of) {
  return of == shape::short_ones ? group_records : lanes;
}
[[nodiscard]] L3_FN constexpr std::uint32_t carried_bits(shape of) {
  return of == shape::short_ones ? 8 : 16;
}

/// The stored form of first samples: the first itself, then the differences of neighbours, modulo
/// 2^16, with the sign in the lowest bit.
[[nodiscard]] L3_FN constexpr std::uint32_t fold_sign(std::int32_t difference) {
  return static_cast<std::uint16_t>((difference << 1) ^ (difference >> 31));
}
[[nodiscard]] L3_FN constexpr std::int32_t unfold_sign(std::uint32_t folded) {
  return static_cast<std::int32_t>(folded >> 1) ^ -static_cast<std::int32_t>(folded & 1);
}

struct group_head {
  choice chosen;
  std::uint32_t first[group_records] = {}; // folded
  std::uint32_t high_bits = 0;             // of each folded first sample except the first
};

/// The bytes from the length to the states.
[[nodiscard]] L3_FN constexpr std::uint32_t head_bytes(const group_head& h, shape of) {
  return length_bytes + 5 + (of == shape::short_ones ? 1 + (15 * h.high_bits + 7) / 8 : 0);
}

/// The coded value of a step in a lane.
struct residual {
  std::int16_t value = 0;
  std::uint32_t symbol = 0; ///< its entry in the tables (strong_tables.hpp)
};

/// The number of the residual's entry in the tables.
[[nodiscard]] L3_FN inline std::uint32_t symbol_of(std::int32_t r, std::uint32_t scale) {
  const auto folded = static_cast<std::uint32_t>(((r >> low_bits_of(scale)) << 1) ^ (r >> 31));
  return scale * max_symbols + (folded < max_symbols ? folded : max_symbols - 1);
}

[[nodiscard]] L3_FN inline residual code_residual(std::int32_t r, std::uint32_t scale) {
  return {static_cast<std::int16_t>(r), entry_of(symbol_of(r, scale))};
}

/// Pushes a step of a lane into its coder; returns whether `word` must be written.
[[nodiscard]] L3_FN inline bool push(std::uint32_t& state, const residual& r, std::uint16_t& word) {
  const std::uint32_t frequency = r.symbol & 0x3ff;
  const std::uint32_t sum = r.symbol >> 10 & 0x3ff;
  const std::uint32_t low_bits = r.symbol >> 20 & 7;
  const bool full = state >= frequency << (32 - table_bits - low_bits);
  if (full) {
    word = static_cast<std::uint16_t>(state);
    state >>= 16;
  }
  const std::uint32_t low = static_cast<std::uint32_t>(r.value) & ((1U << low_bits) - 1);
  // The quotient by the frequency moves up, and the remainder stays.
  const std::uint32_t high = state / frequency * (table_slots - frequency) + state + sum;
  state = high << low_bits | low;
  return full;
}

namespace detail {

/// The residuals of all steps, lane by lane, and the lanes' first samples.
struct group_residuals {
  residual of[lane_samples][lanes];
};

L3_FN inline void model_lanes(const std::uint16_t* samples, shape of, const choice& chosen,
                              group_residuals& to) {
  for (std::uint32_t lane = 0; lane < lanes; ++lane) {
    const std::uint16_t* const x = samples + lane * lane_samples;
    lane_model m;
    std::uint16_t first = 0;
    std::uint32_t age = 0;
    for (std::uint32_t i = 0; i < lane_samples; ++i, ++age) {
      if (!codes(i, of)) {
        m = lane_model(chosen);
        first = x[i];
        age = 0;
        continue;
      }
      const auto p = m.predict(chosen);
      const std::int32_t y = static_cast<std::int16_t>(x[i] - first);
      const std::int32_t r = static_cast<std::int16_t>(y - p.best);
      to.of[i][lane] = code_residual(r, m.scale_now());
      m.learn(p, y, r, age);
    }
  }
}

L3_FN inline void fold_first_samples(const std::uint16_t* samples, shape of, group_head& h) {
  const std::uint32_t n = first_samples(of);
  const std::uint32_t apart = group_samples / n;
  h.first[0] = samples[0];
  std::uint32_t any = 0;
  for (std::uint32_t i = 1; i < n; ++i) {
    h.first[i] =
        fold_sign(static_cast<std::int16_t>(samples[i * apart] - samples[(i - 1) * apart]));
    any |= h.first[i];
  }
  h.high_bits = bits_used(any >> carried_bits(of));
}

/// The initial state of a lane's coder.
[[nodiscard]] L3_FN inline std::uint32_t carried(const group_head& h, shape of,
                                                 std::uint32_t lane) {
  if (of == shape::long_ones) return h.first[lane];
  return (h.first[2 * lane] & 0xff) | (h.first[2 * lane + 1] & 0xff) << 8;
}

L3_FN inline void store_head(const group_head& h, shape of, std::uint32_t coded_bytes,
                             const std::uint32_t* states, std::byte* out) {
  store(out, static_cast<std::uint16_t>(coded_bytes | h.chosen.start << 11));
  std::uint32_t filter = h.high_bits << 28;
  for (std::uint32_t j = 0; j < taps; ++j)
    filter |= (static_cast<std::uint32_t>(h.chosen.filter[j]) & 0x7f) << (7 * j);
  store(out + 2, filter);
  std::uint32_t long_states = 0;
  for (std::uint32_t l = 0; l < lanes; ++l) long_states |= (states[l] >> 24 != 0 ? 1U : 0U) << l;
  out[6] = static_cast<std::byte>(long_states);
  std::byte* p = out + 7;
  if (of == shape::short_ones) {
    *p++ = static_cast<std::byte>(h.first[0] >> 8);
    std::uint64_t bits = 0;
    std::uint32_t have = 0;
    for (std::uint32_t i = 1; i < group_records; ++i) {
      bits |= std::uint64_t{h.first[i] >> 8} << have;
      have += h.high_bits;
      for (; have >= 8; have -= 8, bits >>= 8) *p++ = static_cast<std::byte>(bits & 0xff);
    }
    if (have != 0) *p++ = static_cast<std::byte>(bits & 0xff);
  }
  for (std::uint32_t l = 0; l < lanes; ++l) {
    store(p, static_cast<std::uint16_t>(states[l]));
    p[2] = static_cast<std::byte>((states[l] >> 16) & 0xff);
    p += 3;
    if ((long_states >> l & 1) != 0) *p++ = static_cast<std::byte>(states[l] >> 24);
  }
}

[[nodiscard]] L3_FN inline std::uint32_t states_bytes(const std::uint32_t* states) {
  std::uint32_t bytes = 0;
  for (std::uint32_t l = 0; l < lanes; ++l) bytes += states[l] >> 24 != 0 ? 4 : 3;
  return bytes;
}

L3_FN inline std::uint32_t store_raw(const std::uint16_t* samples, std::byte* out) {
  store(out, std::uint16_t{0});
  memcpy(out + length_bytes, samples, group_sample_bytes);
  return max_group_bytes;
}

/// Writes a coded group; returns its length.
L3_FN inline std::uint32_t store_group(const std::uint16_t* samples, const group_head& h, shape of,
                                       const std::uint32_t* states, const std::uint16_t* words,
                                       std::uint32_t n, std::byte* out) {
  const std::uint32_t before_words = head_bytes(h, of) + states_bytes(states);
  const std::uint32_t bytes = before_words + 2 * n;
  if (bytes - length_bytes > max_coded_bytes) return store_raw(samples, out);
  store_head(h, of, bytes - length_bytes, states, out);
  memcpy(out + before_words, words, 2 * n);
  return bytes;
}

} // namespace detail

/// The most 16-bit words of the lanes: one per step, and one per escape.
inline constexpr std::uint32_t max_words = 2 * group_samples;

/// Encodes 1024 samples to `out`, which has room for max_group_bytes; returns the bytes used.
L3_FN inline std::uint32_t encode_group(const std::uint16_t* samples, shape of, std::byte* out) {
  group_head h;
  h.chosen = choose(samples);
  detail::fold_first_samples(samples, of, h);
  detail::group_residuals residuals;
  detail::model_lanes(samples, of, h.chosen, residuals);

  // The decoder reads words as needed, lane by lane in each step. The coder of each lane works like
  // a stack, so the last step is pushed first, and words are written from the end.
  std::uint16_t words[max_words];
  std::uint32_t begin = max_words;
  std::uint32_t states[lanes];
  for (std::uint32_t l = 0; l < lanes; ++l) states[l] = least_state + detail::carried(h, of, l);
  for (std::uint32_t i = lane_samples; i-- != 0;) {
    if (!codes(i, of)) continue;
    for (std::uint32_t l = lanes; l-- != 0;)
      if ((residuals.of[i][l].symbol & escape_bit) != 0)
        words[--begin] = static_cast<std::uint16_t>(residuals.of[i][l].value);
    for (std::uint32_t l = lanes; l-- != 0;) {
      std::uint16_t word = 0;
      if (push(states[l], residuals.of[i][l], word)) words[--begin] = word;
    }
  }

  return detail::store_group(samples, h, of, states, words + begin, max_words - begin, out);
}

/// The length of the group at `in`; 0 if it is truncated.
[[nodiscard]] L3_FN inline std::uint32_t group_bytes(const std::byte* in, std::size_t available) {
  if (available < length_bytes) return 0;
  const std::uint32_t coded = load<std::uint16_t>(in) & max_coded_bytes;
  const std::uint32_t bytes = length_bytes + (coded == 0 ? group_sample_bytes : coded);
  return bytes <= available ? bytes : 0;
}

/// Whether the length says that raw samples follow.
[[nodiscard]] inline bool is_raw(const std::byte* in) {
  return (load<std::uint16_t>(in) & max_coded_bytes) == 0;
}

/// Reads head and states of the coded group of `bytes` bytes at `in`. Returns the offset of its
/// words; 0 if it is too short.
[[nodiscard]] inline std::uint32_t load_head(const std::byte* in, std::uint32_t bytes, shape of,
                                             group_head& h, std::uint32_t* states) {
  if (bytes < length_bytes + 6) return 0;
  h.chosen.start = load<std::uint16_t>(in) >> 11;
  const auto filter = load<std::uint32_t>(in + 2);
  for (std::uint32_t j = 0; j < taps; ++j)
    h.chosen.filter[j] = static_cast<std::int32_t>(filter << (25 - 7 * j)) >> 25;
  h.high_bits = filter >> 28;
  const auto long_states = load<std::uint8_t>(in + 6);
  std::uint32_t at = head_bytes(h, of);
  if (h.high_bits > (of == shape::short_ones ? 8U : 0U)) return 0;
  if (bytes < at + 3 * lanes + ones(long_states)) return 0;
  if (of == shape::short_ones) {
    h.first[0] = load<std::uint8_t>(in + 7) * 256U;
    std::uint64_t bits = 0;
    std::uint32_t have = 0;
    const std::byte* p = in + 8;
    for (std::uint32_t i = 1; i < group_records; ++i) {
      for (; have < h.high_bits; have += 8) bits |= std::uint64_t{load<std::uint8_t>(p++)} << have;
      h.first[i] = static_cast<std::uint32_t>(bits & ((1U << h.high_bits) - 1)) << 8;
      bits >>= h.high_bits;
      have -= h.high_bits;
    }
  }
  for (std::uint32_t l = 0; l < lanes; ++l) {
    states[l] = load<std::uint16_t>(in + at) | load<std::uint8_t>(in + at + 2) << 16;
    at += 3;
    if ((long_states >> l & 1) != 0) states[l] |= load<std::uint32_t>(in + at - 3) & 0xff000000U;
    at += long_states >> l & 1;
    if (states[l] < least_state) return 0;
  }
  return at;
}

/// Restores the first samples from the decoded states; returns false if no encoder starts with
/// these states.
[[nodiscard]] inline bool unfold_first_samples(const group_head& h, shape of,
                                               const std::uint32_t* states, std::uint16_t* first) {
  std::uint32_t any = 0;
  for (std::uint32_t l = 0; l < lanes; ++l) any |= (states[l] >> 16) ^ 1U;
  if (any != 0) return false;
  std::uint32_t x = 0;
  for (std::uint32_t i = 0; i < first_samples(of); ++i) {
    const std::uint32_t lane = of == shape::long_ones ? i : i / 2;
    const std::uint32_t carried = states[lane] & 0xffff;
    const std::uint32_t folded =
        of == shape::long_ones ? carried : h.first[i] | (carried >> (8 * (i % 2)) & 0xff);
    x = i == 0 ? folded : x + static_cast<std::uint32_t>(unfold_sign(folded));
    first[i] = static_cast<std::uint16_t>(x);
  }
  return true;
}

/// Decodes the group at `in` with length `bytes` (group_bytes) to 1024 samples. Returns false if it
/// is damaged; the samples are then invalid.
[[nodiscard]] inline bool decode_group(const std::byte* in, std::uint32_t bytes, shape of,
                                       std::uint16_t* samples) {
  if (is_raw(in)) {
    memcpy(samples, in + length_bytes, group_sample_bytes);
    return load<std::uint16_t>(in) == 0;
  }
  group_head h;
  std::uint32_t states[lanes];
  std::uint32_t at = load_head(in, bytes, of, h, states);
  if (at == 0) return false;
  lane_model models[lanes];
  std::uint32_t age = 0;
  for (std::uint32_t i = 0; i < lane_samples; ++i, ++age) {
    if (!codes(i, of)) {
      for (std::uint32_t l = 0; l < lanes; ++l) {
        models[l] = lane_model(h.chosen);
        samples[l * lane_samples + i] = 0;
      }
      age = 0;
      continue;
    }
    lane_model::prediction p[lanes];
    std::int32_t r[lanes];
    std::uint32_t escapes = 0;
    for (std::uint32_t l = 0; l < lanes; ++l) {
      p[l] = models[l].predict(h.chosen);
      const std::uint32_t scale = models[l].scale_now();
      const std::uint32_t low_bits = low_bits_of(scale);
      const std::uint32_t slot =
          symbols.of_slot[scale * table_slots + (states[l] >> low_bits) % table_slots];
      const std::uint32_t low = states[l] & ((1U << low_bits) - 1);
      states[l] = (slot & 0x3ff) * (states[l] >> (table_bits + low_bits)) + (slot >> 10 & 0x3ff);
      const auto entry = static_cast<std::int32_t>(slot);
      r[l] = (entry >> 22) * (1 << low_bits) + static_cast<std::int32_t>(low);
      if (entry < end_of_escapes) escapes |= 1U << l;
      if (states[l] < least_state) {
        if (at + 2 > bytes) return false;
        states[l] = states[l] << 16 | load<std::uint16_t>(in + at);
        at += 2;
      }
    }
    for (std::uint32_t l = 0; l < lanes; ++l) {
      if ((escapes >> l & 1) != 0) {
        if (at + 2 > bytes) return false;
        r[l] = load<std::int16_t>(in + at);
        at += 2;
      }
      const std::int32_t y = static_cast<std::int16_t>(p[l].best + r[l]);
      models[l].learn(p[l], y, r[l], age);
      samples[l * lane_samples + i] = static_cast<std::uint16_t>(y);
    }
  }
  std::uint16_t first[group_records];
  if (at != bytes || !unfold_first_samples(h, of, states, first)) return false;
  const std::uint32_t apart = group_samples / first_samples(of);
  for (std::uint32_t i = 0; i < group_samples; ++i)
    samples[i] = static_cast<std::uint16_t>(samples[i] + first[i / apart]);
  return true;
}

} // namespace l3::strong
