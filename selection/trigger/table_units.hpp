// SPDX-License-Identifier: Apache-2.0
// From the units that people use to the whole numbers of tables and events: how many steps make one
// unit (transport/format/summary.hpp, selection/sequence/tables.hpp).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace l3::table_units {

inline constexpr double energy = 1000; ///< keV in a MeV; 1/1000 in a photoelectron
inline constexpr double time = 128;    ///< in a ns
inline constexpr double length = 10;   ///< in a mm
inline constexpr double sum = 4;       ///< in a count
inline constexpr double factor = 65536;

/// The nearest whole number of 32 bits that can be the end of a range: none is
/// undefined_quantity.
[[nodiscard]] inline std::int32_t whole(double steps) {
  constexpr double most = 0x7fffffff;
  return static_cast<std::int32_t>(std::llround(std::clamp(steps, -most, most)));
}

/// The least whole number that is not below a range's begin, and the greatest that is not above its
/// end. 0.3 × 1000 is 300 all the same: what doubles cannot write exactly is not meant.
inline constexpr double inexact = 1e-6;
[[nodiscard]] inline std::int32_t whole_from(double steps) {
  return whole(std::ceil(steps - inexact));
}
[[nodiscard]] inline std::int32_t whole_to(double steps) {
  return whole(std::floor(steps + inexact));
}

} // namespace l3::table_units
