// SPDX-License-Identifier: Apache-2.0
// Conversion from people's units to the integers of tables and events: steps per unit
// (transport/format/summary.hpp, selection/sequence/tables.hpp).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace l3::table_units {

inline constexpr double energy = 1000; ///< keV per MeV; 1/1000 per photoelectron
inline constexpr double time = 128;    ///< per ns
inline constexpr double length = 10;   ///< per mm
inline constexpr double sum = 4;       ///< per count
inline constexpr double factor = 65536;

/// The nearest 32-bit integer that can be the end of a range, so never
/// undefined_quantity.
[[nodiscard]] inline std::int32_t whole(double steps) {
  constexpr double most = 0x7fffffff;
  return static_cast<std::int32_t>(std::llround(std::clamp(steps, -most, most)));
}

/// The least integer not below a range's start, and the greatest not above its end. 0.3 × 1000
/// counts as 300: the error of doubles is ignored.
inline constexpr double inexact = 1e-6;
[[nodiscard]] inline std::int32_t whole_from(double steps) {
  return whole(std::ceil(steps - inexact));
}
[[nodiscard]] inline std::int32_t whole_to(double steps) {
  return whole(std::floor(steps + inexact));
}

} // namespace l3::table_units
