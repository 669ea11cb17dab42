// SPDX-License-Identifier: Apache-2.0
// The logarithm that the histograms of inputs sum: that of the variance of a waveform's first
// samples. A sum of logarithms measures the noise of most waveforms. A sum of variances measures
// that of the few waveforms with the tail of an earlier pulse.
//
// It is computed with integers, so that every executor gets the same result, and is cheap: the
// highest bit gives the octave, and a parabola interpolates within it.
#pragma once

#include <cstdint>

#include "gpu/executors/bits.hpp"
#include "transport/format/histograms.hpp"

namespace l3 {

/// log2 of n Σx² − (Σx)² of n = noise_samples samples x, in 1/noise_log_unit octave; 0 for 0. The
/// error is at most 0.01 octave, and 0.001 on average over an octave.
[[nodiscard]] L3_FN inline std::uint32_t noise_log_of(std::uint32_t variance) {
  if (variance == 0) return 0;
  constexpr std::uint32_t bits = 15; // of the fraction f; log2(1 + f) is near f + 11/32 f (1 − f)
  constexpr std::uint32_t one = 1U << bits;
  constexpr std::uint32_t rounding = one / noise_log_unit;
  const std::uint32_t octave = bits_used(variance) - 1;
  const std::uint32_t f = variance << (31 - octave) >> (31 - bits) & (one - 1);
  const std::uint32_t bend = 11 * f * (one - f) >> (5 + bits); // 11 · 2^28 at most: fits 32 bits
  return (octave * one + f + bend + rounding / 2) / rounding;
}

} // namespace l3
