// SPDX-License-Identifier: Apache-2.0
// The form of a pulse, as the electronics leave it: a bell that the filter before the 125 MHz
// digitizers makes longer behind its peak. The simulator draws with it, and the selection's tables
// follow from it how much of a pulse lies in the samples that are summed and how long before the
// peak it crosses half its height.
#pragma once

#include <array>

#include "selection/detector/arithmetic.hpp"
#include "transport/format/readout.hpp"

namespace l3 {

/// height · exp(−t² / 2s²) with s = width + skew · t; t in ns since the peak.
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
