// SPDX-License-Identifier: Apache-2.0
// The strong codec's choice of a group's filter and first scale, made by the encoder only: by the
// correlation of neighbouring samples with clipped pulses, as in linear prediction of sound. Sums
// are integers; the few operations on doubles are correctly rounded and in a fixed order, so that
// every form of the encoder chooses alike.
#pragma once

#include <cstdint>

#include "gpu/codec/strong_model.hpp"

namespace l3::strong {

/// The sums over a record of the products of samples 0 … 4 apart, and of the absolute steps between
/// neighbours.
struct correlation {
  std::int32_t of[taps + 1];
  std::int32_t steps;
};

inline constexpr std::int32_t max_clip = 4095; // so that the sums fit 32 bits

/// `x`: the record's samples by number.
template <class Samples>
[[nodiscard]] L3_FN correlation correlate(const Samples& x) {
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
  correlation c{};
  std::int32_t before[taps] = {}; // the last one first
  for (std::uint32_t i = 0; i < record_samples; ++i) {
    const std::int32_t z = clamp(x[i] - mean, clip);
    c.of[0] += z * z;
    for (std::uint32_t j = 0; j < taps; ++j) c.of[j + 1] += z * before[j];
    if (i != 0) c.steps += z < before[0] ? before[0] - z : z - before[0];
    for (std::uint32_t j = taps - 1; j > 0; --j) before[j] = before[j - 1];
    before[0] = z;
  }
  return c;
}

/// The index of the largest start_scale() up to 0.9 times the record's mean step.
[[nodiscard]] L3_FN inline std::uint32_t start_of(std::int32_t steps) {
  constexpr std::int32_t sixteenths = 234; // of a mean over 63 steps, times 0.9, in 1/1024
  const std::int32_t mean = (steps * (sixteenths / 2)) >> 9;
  const auto s = static_cast<std::uint32_t>(mean < 2 ? 2 : mean);
  const auto octave = bits_used(s) - 1;
  return 2 * (octave - 1) + (s >> (octave - 1) & 1);
}

/// The best predicting filter, by the Levinson-Durbin recursion.
L3_FN inline void solve(const double (&sum)[taps + 1], std::int32_t (&filter)[taps]) {
  double r[taps + 1];
  for (std::uint32_t j = 0; j <= taps; ++j)
    r[j] = sum[j] * (64.0 / static_cast<double>(record_samples - j));
  r[0] = r[0] * 1.002 + 0.02; // avoids a division by zero for flat or too few waveforms
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
    if (!(left > 0.0)) break; // the corrected sums are those of no signal
  }
  for (std::uint32_t j = 0; j < taps; ++j) {
    const double of_32 = a[j] * 32.0 + 64.5;
    filter[j] = of_32 < 0.0 ? -64 : of_32 >= 128.0 ? 63 : static_cast<std::int32_t>(of_32) - 64;
  }
}

/// A record's contribution to the sums of its group; all records have the same weight.
struct contribution {
  double of[taps + 1] = {};
  std::uint32_t start = 0;

  /// Call it for the records in order, because the order of the sums affects the choice.
  L3_FN void add(const contribution& record) {
    for (std::uint32_t j = 0; j <= taps; ++j) of[j] = of[j] + record.of[j];
    start += record.start;
  }
};

[[nodiscard]] L3_FN inline contribution contribution_of(const correlation& c) {
  contribution to;
  const double weight = 1.0 / (static_cast<double>(c.of[0]) + 64.0);
  for (std::uint32_t j = 0; j <= taps; ++j) to.of[j] = static_cast<double>(c.of[j]) * weight;
  to.start = start_of(c.steps);
  return to;
}

/// The choice for the 16 records of a group, from their sum.
[[nodiscard]] L3_FN inline choice chosen_for(const contribution& group) {
  choice to;
  solve(group.of, to.filter);
  to.start = (group.start + 12) / group_records;
  to.start = to.start < 31 ? to.start : 31;
  return to;
}

[[nodiscard]] L3_FN inline choice choose(const correlation (&records)[group_records]) {
  contribution group;
  for (const correlation& c : records) group.add(contribution_of(c));
  return chosen_for(group);
}

[[nodiscard]] L3_FN inline choice choose(const std::uint16_t* samples) {
  correlation of[group_records];
  for (std::uint32_t i = 0; i < group_records; ++i) of[i] = correlate(samples + i * record_samples);
  return choose(of);
}

} // namespace l3::strong
