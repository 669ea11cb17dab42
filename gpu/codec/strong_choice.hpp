// SPDX-License-Identifier: Apache-2.0
// How the encoder of the strong codec chooses a group's filter and first scale: by the correlation
// of neighbouring samples, with pulses clipped, as in linear prediction of sound. A decoder needs
// none of this. Sums are whole numbers; the few operations on doubles are correctly rounded ones in
// a fixed order, so that every form of the encoder chooses alike.
#pragma once

#include <cstdint>

#include "gpu/codec/strong_model.hpp"

namespace l3::strong {

/// The sums over a record of the products of samples 0 … 4 apart, and of the steps (without their
/// sign) between neighbours.
struct correlation {
  std::int32_t of[taps + 1];
  std::int32_t steps;
};

inline constexpr std::int32_t max_clip = 4095; // so that the sums fit 32 bits

[[nodiscard]] L3_FN inline correlation correlate(const std::uint16_t* x) {
  const auto clamp = [](std::int32_t v, std::int32_t to) {
    return v < -to ? -to : v > to ? to : v;
  };
  std::int32_t mean = 0;
  for (std::uint32_t i = 0; i < record_samples; ++i) mean += x[i];
  mean = (mean + 32) >> 6;
  std::int32_t away = 0;
  for (std::uint32_t i = 0; i < record_samples; ++i)
    away += x[i] < mean ? mean - x[i] : x[i] - mean;
  std::int32_t clip = ((3 * away) >> 6) + 1;
  clip = clip < max_clip ? clip : max_clip;
  std::int32_t z[record_samples];
  for (std::uint32_t i = 0; i < record_samples; ++i) z[i] = clamp(x[i] - mean, clip);
  correlation c{};
  for (std::uint32_t j = 0; j <= taps; ++j)
    for (std::uint32_t i = j; i < record_samples; ++i) c.of[j] += z[i] * z[i - j];
  for (std::uint32_t i = 1; i < record_samples; ++i)
    c.steps += z[i] < z[i - 1] ? z[i - 1] - z[i] : z[i] - z[i - 1];
  return c;
}

/// The number of the start_scale() at or below 0.9 times the record's mean step.
[[nodiscard]] L3_FN inline std::uint32_t start_of(std::int32_t steps) {
  constexpr std::int32_t sixteenths = 234; // of a mean over 63 steps, times 0.9, in 1/1024
  const std::int32_t mean = (steps * (sixteenths / 2)) >> 9;
  const auto s = static_cast<std::uint32_t>(mean < 2 ? 2 : mean);
  const auto octave = bits_used(s) - 1;
  return 2 * (octave - 1) + (s >> (octave - 1) & 1);
}

/// The filter that predicts best, by Levinson's and Durbin's recursion.
L3_FN inline void solve(const double (&sum)[taps + 1], std::int32_t (&filter)[taps]) {
  double r[taps + 1];
  for (std::uint32_t j = 0; j <= taps; ++j)
    r[j] = sum[j] * (64.0 / static_cast<double>(record_samples - j));
  r[0] = r[0] * 1.002 + 0.02; // so that flat waveforms, or too few, divide by no zero
  double a[taps] = {};
  double left = r[0];
  for (std::uint32_t n = 0; n < taps; ++n) {
    double k = r[n + 1];
    for (std::uint32_t j = 0; j < n; ++j) k = k - a[j] * r[n - j];
    k = k / left;
    double next[taps] = {};
    for (std::uint32_t j = 0; j < n; ++j) next[j] = a[j] - k * a[n - 1 - j];
    next[n] = k;
    for (std::uint32_t j = 0; j <= n; ++j) a[j] = next[j];
    left = left * (1.0 - k * k);
    if (!(left > 0.0)) break; // the corrected sums need not belong to any signal
  }
  for (std::uint32_t j = 0; j < taps; ++j) {
    const double of_32 = a[j] * 32.0 + 64.5;
    filter[j] = of_32 < 0.0 ? -64 : of_32 >= 128.0 ? 63 : static_cast<std::int32_t>(of_32) - 64;
  }
}

/// Adds a record of one correlation to the group's, each record with the same weight.
L3_FN inline void add_record(const correlation& c, double (&sum)[taps + 1]) {
  const double weight = 1.0 / (static_cast<double>(c.of[0]) + 64.0);
  for (std::uint32_t j = 0; j <= taps; ++j) sum[j] = sum[j] + static_cast<double>(c.of[j]) * weight;
}

/// What suits the 16 records of a group.
[[nodiscard]] L3_FN inline choice choose(const correlation (&records)[group_records]) {
  double sum[taps + 1] = {};
  std::uint32_t starts = 0;
  for (const correlation& c : records) {
    add_record(c, sum);
    starts += start_of(c.steps);
  }
  choice to;
  solve(sum, to.filter);
  to.start = (starts + 12) / group_records;
  to.start = to.start < 31 ? to.start : 31;
  return to;
}

[[nodiscard]] L3_FN inline choice choose(const std::uint16_t* samples) {
  correlation of[group_records];
  for (std::uint32_t i = 0; i < group_records; ++i) of[i] = correlate(samples + i * record_samples);
  return choose(of);
}

} // namespace l3::strong
