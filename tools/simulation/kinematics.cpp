// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/kinematics.hpp"

#include <algorithm>
#include <cmath>

namespace l3 {
namespace {

/// Momentum of two decay products in their parent's rest frame.
double momentum_of_two(double m, double m1, double m2) {
  const double sum = m1 + m2;
  const double difference = m1 - m2;
  const double square = (m * m - sum * sum) * (m * m - difference * difference);
  return square > 0 ? std::sqrt(square) / (2 * m) : 0;
}

/// Boosts from the rest frame of `parent` to the frame in which it has this momentum.
four_momentum boost(const four_momentum& p, const four_momentum& parent, double mass) {
  const double along = p.x * parent.x + p.y * parent.y + p.z * parent.z;
  const double energy = (parent.energy * p.energy + along) / mass;
  const double k = (p.energy + energy) / (parent.energy + mass);
  return {energy, p.x + k * parent.x, p.y + k * parent.y, p.z + k * parent.z};
}

} // namespace

four_momentum random_direction(random_source& random) {
  for (;;) {
    const double x = random.uniform(-1, 1);
    const double y = random.uniform(-1, 1);
    const double z = random.uniform(-1, 1);
    const double r2 = x * x + y * y + z * z;
    constexpr double too_short = 1e-6;
    if (r2 > 1 || r2 < too_short) continue;
    const double r = std::sqrt(r2);
    return {0, x / r, y / r, z / r};
  }
}

std::array<four_momentum, 2> decay(const four_momentum& parent, double mass, double mass_1,
                                   double mass_2, random_source& random) {
  const double p = momentum_of_two(mass, mass_1, mass_2);
  const auto d = random_direction(random);
  const four_momentum one{std::sqrt(p * p + mass_1 * mass_1), p * d.x, p * d.y, p * d.z};
  const four_momentum two{std::sqrt(p * p + mass_2 * mass_2), -p * d.x, -p * d.y, -p * d.z};
  return {boost(one, parent, mass), boost(two, parent, mass)};
}

std::array<four_momentum, 3> decay(const four_momentum& parent, double mass,
                                   const std::array<double, 3>& masses, random_source& random) {
  // The mass of the second and third particle together, by rejection: phase space is the product of
  // the two momenta.
  const double least = masses[1] + masses[2];
  const double most = mass - masses[0];
  const double bound =
      momentum_of_two(mass, masses[0], least) * momentum_of_two(most, masses[1], masses[2]);
  for (;;) {
    const double pair = random.uniform(least, most);
    const double weight =
        momentum_of_two(mass, masses[0], pair) * momentum_of_two(pair, masses[1], masses[2]);
    if (random.uniform() * bound > weight) continue;
    const auto first = decay(parent, mass, masses[0], pair, random);
    const auto others = decay(first[1], std::max(pair, 1e-3), masses[1], masses[2], random);
    return {first[0], others[0], others[1]};
  }
}

} // namespace l3
