// SPDX-License-Identifier: Apache-2.0
// The rows of the table of robustness: what is put into the waveforms that the selection does not
// know, at two or three sizes each, and what the selection must keep of signal and mixture then.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "tools/simulation/effects.hpp"

namespace l3 {

struct stress_row {
  std::string_view name;
  std::vector<std::pair<std::string_view, double>> effects; ///< options of `koto-l3 simulate`
  double least_signal = 0.97; ///< of the signal that offline takes, kept by the signal's line
  double most_mixture = 0.20; ///< kept of the mixture

  [[nodiscard]] simulated_effects sizes() const;
  /// Whether one seed has the same particles as without the effects: these are then of the
  /// electronics.
  [[nodiscard]] bool same_particles() const;
};

/// The first row has no effect.
[[nodiscard]] const std::vector<stress_row>& stress_rows();

} // namespace l3
