// SPDX-License-Identifier: Apache-2.0
// Differences between the inputs and their calibration, drawn once from the simulation's seed, for
// effects of an input and not of an event.
#pragma once

#include <vector>

#include "selection/detector/detector.hpp"
#include "tools/simulation/effects.hpp"

namespace l3 {

struct input_fault {
  enum class kind : std::uint8_t { none, dead, hot, stuck } what = kind::none;
  double noise = 1;      ///< factor
  double gain = 1;       ///< factor
  double time = 0;       ///< ns
  std::uint8_t form = 0; ///< of its pulses, 0 … pulse_forms − 1; the middle one is nominal
};

inline constexpr int pulse_forms = 9; ///< from two spreads too narrow to two too wide
inline constexpr double nominal_form = 4;

/// The factor on a pulse's width of form `form`.
[[nodiscard]] constexpr double width_of(int form, double spread) {
  constexpr double forms_per_spread = 2;
  return 1 + spread * (form - nominal_form) / forms_per_spread;
}

/// By input number.
[[nodiscard]] std::vector<input_fault>
draw_input_faults(const detector& d, const simulated_effects& effects, std::uint64_t seed);

} // namespace l3
