// SPDX-License-Identifier: Apache-2.0
// Whether a simulated signal event passes the offline selection by its truth, so that the online
// line must not lose it. Cuts of the K_L → π⁰νν̄ analysis: two photons of 100 to 2000 MeV in the
// calorimeter, more than 650 MeV together, vertex 3200 to 5000 mm, transverse momentum 130 to 250
// MeV/c, and no counter above its offline threshold within its offline window, including accidental
// hits.
#pragma once

#include "selection/detector/detector.hpp"
#include "tools/simulation/true_event.hpp"

namespace l3 {

/// The offline cuts that an event passes.
struct offline_judgement {
  bool photons = false; ///< energies, vertex and transverse momentum
  bool vetoes = false;
  /// The photons also hit where the online line and the offline analysis look: more than 150 mm
  /// from the axis in x or y, within 850 mm, 300 mm apart.
  bool fiducial = false;

  [[nodiscard]] bool passes() const { return photons && vetoes; }
};

/// Thresholds, windows and counters with neighbour conditions come from the detector's description,
/// not from the selection.
[[nodiscard]] offline_judgement judge_offline(const true_event& e, const detector& d);

/// Of all photons in the calorimeter, from their directions, MeV/c. `front`: of the calorimeter,
/// mm.
[[nodiscard]] double true_transverse_momentum(const true_event& e, double front);

} // namespace l3
