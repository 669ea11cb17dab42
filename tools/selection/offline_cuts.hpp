// SPDX-License-Identifier: Apache-2.0
// Whether a simulated signal event would pass the offline selection, judged on its truth: what the
// online line must not lose. Cuts of the K_L → π⁰νν̄ analysis: two photons of 100 to 2000 MeV in the
// calorimeter, more than 650 MeV together, vertex 3200 to 5000 mm, transverse momentum 130 to
// 250 MeV/c, and no counter above its offline threshold within its offline window, accidental hits
// included.
#pragma once

#include "selection/detector/detector.hpp"
#include "tools/simulation/true_event.hpp"

namespace l3 {

/// What of the offline selection an event passes.
struct offline_judgement {
  bool photons = false; ///< energies, vertex and transverse momentum
  bool vetoes = false;
  /// The photons also hit where the online line looks: outside 150 mm from the axis in x or y,
  /// within 850 mm, 300 mm apart. The offline analysis cuts there, too.
  bool fiducial = false;

  [[nodiscard]] bool passes() const { return photons && vetoes; }
};

/// Thresholds, windows and which counters need neighbouring modules to fire are those of the
/// detector's description, whatever selection is judged.
[[nodiscard]] offline_judgement judge_offline(const true_event& e, const detector& d);

} // namespace l3
