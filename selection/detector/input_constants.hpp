// SPDX-License-Identifier: Apache-2.0
// The constants that differ between the inputs of a simulated detector: noise, pedestal, time
// offset. They are drawn from the seed in the detector's description, so that the simulator, which
// puts them into the waveforms, and the nominal calibration (selection/detector/calibration.hpp)
// agree. A real detector's constants come from a calibration file.
#pragma once

#include <vector>

#include "selection/detector/detector.hpp"

namespace l3 {

struct input_constants {
  double noise = 0;    ///< rms, counts
  double pedestal = 0; ///< counts
  double time = 0;     ///< ns: delay of this input's pulses
};

/// For all inputs, by their number in the detector.
[[nodiscard]] std::vector<input_constants> draw_input_constants(const detector& d);

} // namespace l3
