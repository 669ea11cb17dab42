// SPDX-License-Identifier: Apache-2.0
// Makes a complete event of a given type: its particles, their hits in the counters, accidental
// activity, and the resulting signals.
#pragma once

#include <vector>

#include "tools/simulation/decay.hpp"
#include "tools/simulation/effects.hpp"
#include "tools/simulation/shower.hpp"

namespace l3 {

/// One per thread, because it keeps working memory.
class event_maker {
public:
  explicit event_maker(const detector& d, const simulated_effects& effects = {});

  /// `on_spill`: whether there is beam, and so accidental activity.
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
  /// A random place on a counter within reach of backsplash.
  [[nodiscard]] place near_calorimeter(const veto_shape& s, random_source& random) const;
  void add_accidentals(random_source& random, true_event& out) const;

  /// An input, and the expected number of accidental pulses of it and all earlier inputs in the
  /// simulated time.
  struct activity {
    double cumulative = 0;
    std::uint32_t input = 0;
  };

  const detector& detector_;
  simulated_effects effects_;
  decay_maker decays_;
  shower_maker showers_;
  std::vector<activity> activity_;
  std::vector<std::uint16_t> before_calorimeter_; // counters with backsplash
};

} // namespace l3
