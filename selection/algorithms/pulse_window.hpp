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

inline constexpr std::uint32_t slow_pedestal_samples = 8;  ///< the first samples, and also the last
inline constexpr std::uint32_t fast_pedestal_samples = 16; ///< the first samples of each quarter

/// The energy of a pulse at 125 MHz: twice the sum of the middle samples minus the sums of as many
/// samples before and after them. A constant and a slope add nothing, and the noise is lower than
/// in a longer sum (docs/decisions/0028-energy-without-area.md).
struct slow_energy_window {
  static constexpr std::uint32_t middle = 8;      ///< samples per part
  static constexpr std::uint32_t before_peak = 3; ///< start of the middle part
  static constexpr std::uint32_t all = 3 * middle;

  [[nodiscard]] L3_FN static constexpr std::uint32_t first(std::uint32_t peak_sample) {
    return peak_sample - before_peak - middle;
  }
  /// The weight of sample number `since_first` of the window.
  [[nodiscard]] L3_FN static constexpr std::int32_t weight(std::uint32_t since_first) {
    if (since_first >= all) return 0;
    return since_first - middle < middle ? 2 : -1;
  }
};

/// The energy of a pulse at 500 MHz: a sum of 10 ns above its level. Pulses at 500 MHz have
/// different lengths, so their height measures energy better than their whole sum; a single sample
/// is too noisy.
struct fast_energy_window {
  static constexpr std::uint32_t before_peak = 2;
  static constexpr std::uint32_t samples = 5;
};

/// The level from which a pulse rises: the lower mean of four samples before it and four after it.
/// Only one of the two is likely to lie on another pulse.
struct level_window {
  static constexpr std::uint32_t samples = 4;
  std::uint32_t before_peak; ///< distance to the first sample before the pulse
  std::uint32_t after_peak;  ///< distance to the first sample after it
};
[[nodiscard]] L3_FN constexpr level_window slow_level_window() { return {12, 12}; }
[[nodiscard]] L3_FN constexpr level_window fast_level_window() { return {20, 17}; }

/// At 125 MHz: how many samples around its peak a pulse may be high. A high sample farther away is
/// part of another pulse.
inline constexpr std::uint32_t reach_before = 12;
inline constexpr std::uint32_t reach_after = 18;

} // namespace l3
