// SPDX-License-Identifier: Apache-2.0
// The shape of a pulse after the electronics: a bell whose tail the filter before the 125 MHz
// digitizers lengthens. The simulator draws pulses with it. The selection's tables use it to
// compute the part of a pulse in the summed samples, and the time between its half height and its
// peak.
#pragma once

#include <array>

#include "selection/detector/arithmetic.hpp"
#include "transport/format/readout.hpp"

namespace l3 {

/// height · exp(−t² / 2s²) with s = width + skew · t; t in ns relative to the peak.
struct pulse_form {
  double width = 0;
  double skew = 0;

  /// Height of a pulse of height 1 at this time.
  [[nodiscard]] double at(double t) const {
    const double s = width + skew * t;
    return s > 0 ? exp_of_minus(t * t / (2 * s * s)) : 0;
  }
};

/// After the ten-pole filter: 66 ns wide at half height.
inline constexpr pulse_form slow_pulse_form{27.8, 0.072};
/// Unfiltered, of different lengths: 10, 20, 30 ns wide at half height.
inline constexpr std::array<pulse_form, 3> fast_pulse_forms{{{4.2, 0}, {8.5, 0}, {12.7, 0}}};

[[nodiscard]] constexpr double sample_length(board_kind kind) { // ns
  return kind == board_kind::sampling_125_mhz ? 8 : 2;
}

/// The highest sample: the 500 MHz digitizers use 12 bits.
[[nodiscard]] constexpr std::uint16_t highest_sample(board_kind kind) {
  return kind == board_kind::sampling_125_mhz ? l2::payload_mask : 0x0fff;
}

} // namespace l3
