// SPDX-License-Identifier: Apache-2.0
// Whether a line can fire at all: conditions that exclude each other are a mistake that nobody
// would notice while data are taken, for a line that never fires looks like one that found nothing.
#pragma once

#include <string>
#include <vector>

#include "selection/detector/detector.hpp"
#include "selection/trigger/settings.hpp"

namespace l3 {

/// Why the line can never fire, each reason with its place and a remedy; empty if it can.
[[nodiscard]] std::vector<std::string> why_never(const line_settings& line,
                                                 const photon_settings& photons);
/// The same with what this detector can show.
[[nodiscard]] std::vector<std::string> why_never_with(const detector& d, const line_settings& line);

/// Whether it fires only if there are photons.
[[nodiscard]] bool asks_for_photons(const line_settings& line);

} // namespace l3
