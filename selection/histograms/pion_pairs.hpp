// SPDX-License-Identifier: Apache-2.0
// The masses of the two pions of a K_L → 2π⁰ candidate, an event of four photons. There are three
// ways to form two pairs: the one with the nearest vertices is taken, as in KOTO; each vertex is
// found with the π⁰ mass (algorithms/vertex.hpp). Then each pair has a mass at the vertex of the
// other pair: the π⁰ mass if energies and places are right.
//
// As for the vertex, only + − × ÷ √ of doubles are used, so every executor gets the same result.
#pragma once

#include <cmath>
#include <cstdint>

#include "selection/algorithms/vertex.hpp"
#include "transport/format/summary.hpp"

namespace l3 {

struct pion_masses {
  bool found = false;
  std::int32_t mass[2] = {}; ///< keV
};

namespace pion_details {

/// m² = 2 E₁E₂ (1 − cos θ) of two photons from the axis, `distance` before the face; keV.
[[nodiscard]] L3_FN inline std::int32_t mass_of(const photon_at& one, const photon_at& other,
                                                double distance) {
  const double d2 = distance * distance;
  const double way_1 = std::sqrt(d2 + (one.x * one.x + one.y * one.y));
  const double way_2 = std::sqrt(d2 + (other.x * other.x + other.y * other.y));
  const double cosine = (d2 + (one.x * other.x + one.y * other.y)) / (way_1 * way_2);
  const double square = 2 * (one.energy * other.energy) * (1 - cosine);
  constexpr double largest = 0x7fffffff;
  const double mass = square > 0 ? std::sqrt(square) : 0;
  return static_cast<std::int32_t>(mass < largest ? mass : largest);
}

} // namespace pion_details

[[nodiscard]] L3_FN inline pion_masses find_pion_masses(const photon_summary* photons) {
  const auto at = [&](std::uint32_t k) {
    return photon_at{static_cast<double>(photons[k].energy), static_cast<double>(photons[k].x),
                     static_cast<double>(photons[k].y)};
  };
  pion_masses best;
  double nearest = 0;
  for (std::uint32_t partner = 1; partner < 4; ++partner) { // of photon 0
    const photon_at a = at(0);
    const photon_at b = at(partner);
    const photon_at c = at(partner == 1 ? 2 : 1);
    const photon_at d = at(partner == 3 ? 2 : 3);
    const pion_decay one = find_pion_decay(a, b);
    const pion_decay other = find_pion_decay(c, d);
    if (!one.found || !other.found) continue;
    const double difference = one.distance - other.distance;
    const double apart = difference < 0 ? -difference : difference;
    if (best.found && !(apart < nearest)) continue;
    nearest = apart;
    best.found = true;
    best.mass[0] = pion_details::mass_of(a, b, other.distance);
    best.mass[1] = pion_details::mass_of(c, d, one.distance);
  }
  return best;
}

} // namespace l3
