// SPDX-License-Identifier: Apache-2.0
// A kaon's decay in flight, and the paths of its particles, all straight. The first thick counter
// on a path absorbs the particle, except counters in the beam, which pass most of its energy; thin
// counters see only charged particles and pass them.
#pragma once

#include "tools/simulation/kinematics.hpp"
#include "tools/simulation/truth_file.hpp"

namespace l3 {

class decay_maker {
public:
  explicit decay_maker(const detector& d);

  /// Decays kaons until the photons match the type, and fills in vertex, momentum, photons and veto
  /// hits. For the types from pi0nunu to minimum_bias with a decay.
  void make(event_type type, random_source& random, true_event& out) const;

  /// The module of a veto in this direction from the axis.
  [[nodiscard]] static std::uint16_t module_at(const veto& v, double x, double y);
  /// Position along a barrel module, from its middle; walls have no length along the beam.
  [[nodiscard]] static double along_module(const veto_shape& s, double z);

private:
  void decay_once(event_type type, random_source& random, true_event& out) const;
  void fly(const four_momentum& photon, random_source& random, true_event& out) const;
  void fly_charged(const four_momentum& p, true_charged::kind what, random_source& random,
                   true_event& out) const;
  /// Deposits energy in one or several consecutive modules of the counter.
  void hit(std::size_t counter, double energy, const true_photon& where, double z,
           random_source& random, true_event& out) const;

  const detector& detector_;
  double hole_ = 0;   // half the side of the calorimeter's hole
  double radius_ = 0; // of its outermost crystals' centres
};

} // namespace l3
