// SPDX-License-Identifier: Apache-2.0
// The rows of the robustness table: effects in the waveforms that the selection does not expect, at
// two or three strengths each, and the signal and mixture that the selection must then keep.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "tools/simulation/effects.hpp"

namespace l3 {

struct stress_row {
  std::string_view name;
  std::vector<std::pair<std::string_view, double>> effects; ///< options of `koto-l3 simulate`
  double least_signal = 0.97; ///< fraction of the offline signal that the signal line keeps
  double most_mixture = 0.20; ///< kept fraction of the mixture

  [[nodiscard]] simulated_effects sizes() const;
  /// Whether a seed gives the same particles as without the effects, which then affect only the
  /// electronics.
  [[nodiscard]] bool same_particles() const;
};

/// The first row has no effect.
[[nodiscard]] const std::vector<stress_row>& stress_rows();

} // namespace l3
