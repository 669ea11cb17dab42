// SPDX-License-Identifier: Apache-2.0
// The samples of a waveform from which the kernels compute the features of a pulse.
// selection/detector/pulse_response.hpp uses the same numbers to turn sums and times into energies
// and times of the detector.
#pragma once

#include <cstdint>

#include "transport/format/function.hpp"

namespace l3 {

/// A pulse on a board of 64 samples is in time if it peaks within these samples: 96 … 352 ns,
/// around the 204 ns of the trigger.
inline constexpr std::uint32_t in_time_first = 12;
inline constexpr std::uint32_t in_time_end = 44;
/// On boards of 256 samples, pulses in time with the trigger peak at this sample.
inline constexpr std::uint32_t fast_trigger_sample = 102;

inline constexpr std::uint32_t slow_pedestal_samples = 8;  ///< the first samples
inline constexpr std::uint32_t fast_pedestal_samples = 16; ///< the first samples of each quarter

/// The samples around the peak of a pulse whose sum over the pedestal gives its energy.
struct pulse_window {
  std::uint32_t before_peak;
  std::uint32_t after_peak; ///< with the sample of the peak

  [[nodiscard]] L3_FN constexpr std::uint32_t first(std::uint32_t peak_sample) const {
    return peak_sample > before_peak ? peak_sample - before_peak : 0;
  }
  [[nodiscard]] L3_FN constexpr std::uint32_t end(std::uint32_t peak_sample,
                                                  std::uint32_t samples) const {
    return peak_sample + after_peak < samples ? peak_sample + after_peak : samples;
  }
};
/// This window holds nearly all of a pulse, which has the shape of the filter.
[[nodiscard]] L3_FN constexpr pulse_window slow_pulse_window() { return {6, 10}; }
/// This window is 10 ns long. Pulses at 500 MHz have different lengths, so that their height
/// measures energy better than their whole sum does; one sample alone is too noisy.
[[nodiscard]] L3_FN constexpr pulse_window fast_pulse_window() { return {2, 3}; }

/// At 125 MHz: how many samples around its peak a pulse may be high. A high sample farther away
/// belongs to another pulse.
inline constexpr std::uint32_t reach_before = 12;
inline constexpr std::uint32_t reach_after = 18;

} // namespace l3
