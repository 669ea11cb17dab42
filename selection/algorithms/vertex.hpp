// SPDX-License-Identifier: Apache-2.0
// Finds the decay point of a neutral pion, assuming that it decayed on the beam axis into two
// photons that reached the calorimeter. The energies and the pion mass give the angle between the
// photons, and only from one distance do the two impacts appear under that angle. KOTO finds the
// vertex of π⁰νν̄ in this way (for example J. K. Ahn et al., Phys. Rev. Lett. 122 (2019) 021802).
//
// The code uses only + − × ÷ √ of doubles. IEEE 754 defines every bit of these, and no build allows
// the compiler to fuse or reorder them.
#pragma once

#include <cmath>
#include <cstdint>

#include "transport/format/function.hpp"

namespace l3 {

/// Mass of the π⁰, keV (Particle Data Group, 2022).
inline constexpr double neutral_pion_mass = 134976.8;

/// A photon at the front face of the calorimeter: keV, and 0.1 mm from the axis.
struct photon_at {
  double energy = 0;
  double x = 0;
  double y = 0;
};

struct pion_decay {
  bool found = false;
  double distance = 0;            ///< from the vertex to the calorimeter's front face, 0.1 mm
  double transverse_momentum = 0; ///< of the pion, keV/c
};

/// The photons must have positive energy and lie closer to the axis than 2¹⁶ × 0.1 mm.
///
/// Let c = 1 − m² / 2E₁E₂ be the cosine of the angle, rᵢ the places in the face, and D the square
/// of the distance. The scalar product of the two flight paths is r₁·r₂ + D = c √(D + r₁²) √(D +
/// r₂²). Its square is the equation
///
///   (1 − c²) D² + (2 r₁·r₂ − c² (r₁² + r₂²)) D + (r₁·r₂)² − c² r₁² r₂² = 0.
///
/// A root of it solves the first equation only if both sides of that have the same sign. If both
/// roots do, the farther is the decay: as the vertex moves away, the angle first grows and then
/// shrinks, and it is largest at D ≤ |r₁||r₂|. So the nearer root is closer to the face than the
/// photons are to the axis, where there is no decay volume.
[[nodiscard]] L3_FN inline pion_decay find_pion_decay(const photon_at& one,
                                                      const photon_at& other) {
  const double one_minus_c =
      neutral_pion_mass * neutral_pion_mass / (2 * (one.energy * other.energy));
  if (!(one_minus_c < 2)) return {}; // such a pair has less than the pion's mass at every angle
  const double c = 1 - one_minus_c;
  const double c2 = c * c;
  const double r12 = one.x * other.x + one.y * other.y;
  const double r1 = one.x * one.x + one.y * one.y; // r₁²; r2 is r₂²
  const double r2 = other.x * other.x + other.y * other.y;

  const double quadratic = one_minus_c * (1 + c); // 1 − c² without cancellation; above 0
  const double linear = 2 * r12 - c2 * (r1 + r2);
  const double constant = r12 * r12 - c2 * (r1 * r2);
  const double discriminant = linear * linear - 4 * quadratic * constant;
  if (!(discriminant >= 0)) return {};

  // One root is computed as a sum of equal signs; the other follows from the product of the roots.
  const double root = std::sqrt(discriminant);
  const double sum = linear > 0 ? -(linear + root) / 2 : (root - linear) / 2;
  const double first = sum / quadratic;
  const double second = sum != 0 ? constant / sum : first;
  const auto is_one = [&](double d2) { return d2 > 0 && c * (d2 + r12) >= 0; };
  const double far = first > second ? first : second;
  const double near = first > second ? second : first;
  if (!is_one(far) && !is_one(near)) return {};
  const double d2 = is_one(far) ? far : near;

  const double share_1 = one.energy / std::sqrt(d2 + r1);
  const double share_2 = other.energy / std::sqrt(d2 + r2);
  const double px = share_1 * one.x + share_2 * other.x;
  const double py = share_1 * one.y + share_2 * other.y;
  return {true, std::sqrt(d2), std::sqrt(px * px + py * py)};
}

} // namespace l3
