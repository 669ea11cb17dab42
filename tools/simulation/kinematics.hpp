// SPDX-License-Identifier: Apache-2.0
// Decays of the neutral kaon: four-momenta, boosts, phase space. MeV and c = 1.
#pragma once

#include <array>

#include "selection/detector/random.hpp"

namespace l3 {

struct four_momentum {
  double energy = 0;
  double x = 0;
  double y = 0;
  double z = 0;
};

inline constexpr double kaon_mass = 497.611;
inline constexpr double pion_mass = 134.977;
inline constexpr double charged_pion_mass = 139.570;
inline constexpr double muon_mass = 105.658;
inline constexpr double electron_mass = 0.511;

inline constexpr double light_speed = 299.792458; // mm/ns

/// Isotropic, with length 1 (and energy 0).
[[nodiscard]] four_momentum random_direction(random_source& random);

/// The decay of `parent` with mass `mass` into two particles, isotropic in its rest frame.
[[nodiscard]] std::array<four_momentum, 2> decay(const four_momentum& parent, double mass,
                                                 double mass_1, double mass_2,
                                                 random_source& random);

/// A decay into three particles, uniform in phase space.
[[nodiscard]] std::array<four_momentum, 3> decay(const four_momentum& parent, double mass,
                                                 const std::array<double, 3>& masses,
                                                 random_source& random);

} // namespace l3
