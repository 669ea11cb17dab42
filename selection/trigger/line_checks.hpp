// SPDX-License-Identifier: Apache-2.0
// Whether a line can fire at all. Conditions that exclude each other are a mistake that would not
// be noticed while data are taken: a line that never fires looks like one that found nothing.
#pragma once

#include "config/toml/complaints.hpp"
#include "selection/detector/detector.hpp"
#include "selection/trigger/settings.hpp"

namespace l3 {

/// Complains of each reason why the line can never fire.
void check_line(const line_settings& line, const photon_settings& photons, complaints& wrong);
/// The same with what this detector can show.
void check_line(const line_settings& line, const detector& d, complaints& wrong);

/// Whether it fires only if there are photons.
[[nodiscard]] bool asks_for_photons(const line_settings& line);

} // namespace l3
