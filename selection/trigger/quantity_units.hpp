// SPDX-License-Identifier: Apache-2.0
// The units and limits of an event's quantities for people: settings give ranges in these units,
// events have integers (transport/format/summary.hpp).
#pragma once

#include <limits>
#include <string_view>

#include "transport/format/summary.hpp"

namespace l3 {

struct quantity_unit {
  std::string_view name; ///< "MeV"; empty for a number of things
  double steps = 1;      ///< integers per unit
  double least = 0;      ///< lower limit in units
  double most = 0;       ///< upper limit in units
};

[[nodiscard]] constexpr quantity_unit unit_of(quantity q) {
  constexpr double any = std::numeric_limits<double>::infinity();
  constexpr double crystals = 0xffff; // counted in 16 bits
  constexpr double clusters = 64;     // events with more are not judged
  switch (q) {
  case quantity::calorimeter_energy:
  case quantity::photon_energy:
  case quantity::photon_energy_min:
  case quantity::photon_energy_max: return {"MeV", 1000, 0, any};
  case quantity::crystals: return {"", 1, 0, crystals};
  case quantity::clusters:
  case quantity::photons: return {"", 1, 0, clusters};
  case quantity::photon_inner:
  case quantity::photon_radius:
  case quantity::photon_distance:
  case quantity::centre_radius: return {"mm", 10, 0, any};
  case quantity::photon_time_spread: return {"ns", 128, 0, any};
  case quantity::opening: return {"", 1000, -1, 1};
  case quantity::vertex_z: return {"mm", 10, -any, any};
  case quantity::transverse_momentum: return {"MeV/c", 1000, 0, any};
  case quantity::event_time: return {"ns", 128, -any, any};
  case quantity::count_: break;
  }
  return {};
}

} // namespace l3
