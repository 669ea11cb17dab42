// SPDX-License-Identifier: Apache-2.0
// Whether a line can fire at all: conditions that exclude each other are a mistake that nobody
// would notice while data are taken, for a line that never fires looks like one that found nothing.
#pragma once

#include <string>
#include <vector>

#include "selection/settings.hpp"

namespace l3 {

/// Why the line can never fire, each reason with its place and a remedy; empty if it can.
[[nodiscard]] std::vector<std::string> why_never(const line_settings& line,
                                                 const photon_settings& photons);

} // namespace l3
