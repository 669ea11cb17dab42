// SPDX-License-Identifier: Apache-2.0
// Converts energy to signals: shares a photon's shower among crystals, and energy in a veto module
// between its ends.
#pragma once

#include <vector>

#include "selection/detector/random.hpp"
#include "tools/simulation/truth_file.hpp"

namespace l3 {

class shower_maker {
public:
  explicit shower_maker(const detector& d);

  /// Shares the energy among 6 to 25 crystals around (x, y): a narrow core and a wide tail, 90 %
  /// within 35 mm. Returns their sum in MeV: the photon's energy with the calorimeter's resolution.
  double into_calorimeter(double energy, double x, double y, double time, random_source& random,
                          std::vector<signal>& out);

  /// The energy of a particle without a shower, which enters at (x, y) and continues outwards.
  void along_track(double energy, double x, double y, double time, std::vector<signal>& out) const;

  void into_crystal(std::size_t crystal, double energy, double time,
                    std::vector<signal>& out) const;

  /// Adds no signal at dead ends.
  void into_veto(const true_hit& hit, std::vector<signal>& out) const;

private:
  struct share {
    double weight = 0;
    std::uint32_t crystal = 0;
  };

  static constexpr double shower_reach = 110; // mm
  static constexpr int steps_per_mm = 2;

  /// Fraction of the light in a crystal's area.
  [[nodiscard]] double weight_of(const crystal& c, double x, double y) const;
  [[nodiscard]] double density_at(double distance) const;

  const detector& detector_;
  std::vector<share> shares_;
  std::vector<double> density_; // by distance in steps
};

} // namespace l3
