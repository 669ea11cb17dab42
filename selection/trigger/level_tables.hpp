// SPDX-License-Identifier: Apache-2.0
// Which waveforms of a suppressed event are kept, as tables: for each input the samples between
// which its waveforms count as quiet, and the inputs whose high samples keep it all the same. They
// follow from the calibration's pedestals and noise by whole numbers, which docs/formats.md states,
// so that a reader of the stream comes to the same.
#pragma once

#include <cstdint>
#include <vector>

#include "selection/detector/calibration.hpp"
#include "selection/sequence/tables.hpp"
#include "selection/trigger/settings.hpp"

namespace l3 {

struct level_tables {
  std::vector<input_levels> levels; ///< by input, and one behind the last
  std::vector<std::uint16_t> kept_with;
  std::uint32_t hash = 0; ///< of both, never 0
};

[[nodiscard]] level_tables make_level_tables(const detector& d, const calibration& c,
                                             const selection_settings& settings);

} // namespace l3
