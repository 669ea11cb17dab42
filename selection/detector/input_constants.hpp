// SPDX-License-Identifier: Apache-2.0
// The constants that differ from input to input of a simulated detector: noise, pedestal, time
// offset. They are drawn from the seed in the detector's description, so that the simulator, which
// puts them into the waveforms, and the nominal calibration (selection/detector/calibration.hpp)
// speak of the same detector. A real detector's come from a calibration file.
#pragma once

#include <vector>

#include "selection/detector/detector.hpp"

namespace l3 {

struct input_constants {
  double noise = 0;    ///< rms, counts
  double pedestal = 0; ///< counts
  double time = 0;     ///< ns: so much later a pulse of this input appears
};

/// For all inputs, by their number in the detector.
[[nodiscard]] std::vector<input_constants> draw_input_constants(const detector& d);

} // namespace l3
