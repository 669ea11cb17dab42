// SPDX-License-Identifier: Apache-2.0
// A cable map as an SVG file that needs nothing else: the face of the calorimeter, and a row of
// boxes for each counter, coloured by crate, each with its name and input where a pointer rests.
#pragma once

#include <string>

#include "selection/detector/detector.hpp"

namespace l3 {

[[nodiscard]] std::string drawing_of(const detector& d);

} // namespace l3
