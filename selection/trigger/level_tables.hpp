// SPDX-License-Identifier: Apache-2.0
// The tables of the waveforms kept in a suppressed event: the range of quiet samples of each input,
// and the inputs whose high samples keep a quiet waveform. They are computed from the calibration's
// pedestals and noise with integers, as docs/formats.md states, so that readers of the stream get
// the same result.
#pragma once

#include <cstdint>
#include <vector>

#include "selection/detector/calibration.hpp"
#include "selection/sequence/tables.hpp"
#include "selection/trigger/settings.hpp"

namespace l3 {

struct level_tables {
  std::vector<input_levels> levels; ///< by input, plus one after the last
  std::vector<std::uint16_t> kept_with;
  std::uint32_t hash = 0; ///< of both, never 0
};

[[nodiscard]] level_tables make_level_tables(const detector& d, const calibration& c,
                                             const selection_settings& settings);

} // namespace l3
