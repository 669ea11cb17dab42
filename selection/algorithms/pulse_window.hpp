// SPDX-License-Identifier: Apache-2.0
// Which samples of a waveform the features of a pulse are made of. Who turns sums and times into
// energies and times of the detector goes by the same numbers
// (selection/detector/pulse_response.hpp).
#pragma once

#include <cstdint>

#include "transport/format/function.hpp"

namespace l3 {

/// Pulses on boards of 64 samples are in time if they peak in here: 96 … 352 ns, around the
/// trigger's 204 ns.
inline constexpr std::uint32_t in_time_first = 12;
inline constexpr std::uint32_t in_time_end = 44;
/// The sample of boards of 256 samples at which pulses in time with the trigger peak.
inline constexpr std::uint32_t fast_trigger_sample = 102;

inline constexpr std::uint32_t slow_pedestal_samples = 8;  ///< the first
inline constexpr std::uint32_t fast_pedestal_samples = 16; ///< the first of each quarter

/// The samples around its peak whose sum over the pedestal stands for a pulse.
struct pulse_window {
  std::uint32_t before_peak;
  std::uint32_t after_peak; ///< the peak's included

  [[nodiscard]] L3_FN constexpr std::uint32_t first(std::uint32_t peak_sample) const {
    return peak_sample > before_peak ? peak_sample - before_peak : 0;
  }
  [[nodiscard]] L3_FN constexpr std::uint32_t end(std::uint32_t peak_sample,
                                                  std::uint32_t samples) const {
    return peak_sample + after_peak < samples ? peak_sample + after_peak : samples;
  }
};
/// Nearly all of a pulse, which the filter has given its form.
[[nodiscard]] L3_FN constexpr pulse_window slow_pulse_window() { return {6, 10}; }
/// 10 ns at 500 MHz: pulses there are of different lengths, so that their height says more of them
/// than all of their sum, and one sample alone is too noisy.
[[nodiscard]] L3_FN constexpr pulse_window fast_pulse_window() { return {2, 3}; }

/// At 125 MHz: how far around its peak a pulse may still be high. What is high enough beyond is
/// another one.
inline constexpr std::uint32_t reach_before = 12;
inline constexpr std::uint32_t reach_after = 18;

} // namespace l3
