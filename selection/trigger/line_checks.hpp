// SPDX-License-Identifier: Apache-2.0
// Checks whether a line can fire at all. Contradictory conditions would not be noticed while data
// are taken: a line that never fires looks like one that found nothing.
#pragma once

#include "config/toml/complaints.hpp"
#include "selection/detector/detector.hpp"
#include "selection/trigger/settings.hpp"

namespace l3 {

/// Reports each reason why the line can never fire.
void check_line(const line_settings& line, const photon_settings& photons, complaints& wrong);
/// Reports each reason why it can never fire with this detector.
void check_line(const line_settings& line, const detector& d, complaints& wrong);

/// Whether the line fires only on events with photons.
[[nodiscard]] bool asks_for_photons(const line_settings& line);

} // namespace l3
