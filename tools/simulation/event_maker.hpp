// SPDX-License-Identifier: Apache-2.0
// Makes a whole event of a given type: its particles, their hits in the counters, accidental
// activity at the same time, and the resulting signals.
#pragma once

#include <vector>

#include "tools/simulation/decay.hpp"
#include "tools/simulation/effects.hpp"
#include "tools/simulation/shower.hpp"

namespace l3 {

/// Each thread has its own: it keeps working memory.
class event_maker {
public:
  explicit event_maker(const detector& d, const simulated_effects& effects = {});

  /// `on_spill`: there is beam, hence accidental activity.
  void make(event_type type, bool on_spill, random_source& random, true_event& out);

private:
  void add_neutron(random_source& random, true_event& out) const;
  void add_flash(double energy, random_source& random, true_event& out) const;
  void add_cosmic(random_source& random, true_event& out) const;
  void leave_energy(random_source& random, true_event& out);
  void add_backsplash(random_source& random, true_event& out) const;
  struct place {
    double x, y, z; // mm
  };
  /// Somewhere on a counter, within reach of what comes back from the calorimeter.
  [[nodiscard]] place near_calorimeter(const veto_shape& s, random_source& random) const;
  void add_accidentals(random_source& random, true_event& out) const;

  /// An input, and how many accidental pulses it and all inputs before it expect in the simulated
  /// time.
  struct activity {
    double cumulative = 0;
    std::uint32_t input = 0;
  };

  const detector& detector_;
  simulated_effects effects_;
  decay_maker decays_;
  shower_maker showers_;
  std::vector<activity> activity_;
  std::vector<std::uint16_t> before_calorimeter_; // counters that backsplash reaches
};

} // namespace l3
