// SPDX-License-Identifier: Apache-2.0
// Takes inputs out of the selection by their calibration: a table in which they are dead as well.
// What else the table says of them stays, so that a dead end of a module still knows its gain.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "selection/detector/calibration.hpp"

namespace l3 {

/// The inputs that the calibration has as dead, and the detector's description has not.
[[nodiscard]] std::vector<input_address> dead_by(const calibration& c, const detector& d);

/// `table` is one that calibration_of_run() takes, without runs, or empty: the nominal one. An
/// input that has a line keeps it, with dead = 1; the others get lines behind it, in their order.
/// Remarks stay.
[[nodiscard]] std::string with_dead(std::string_view table, std::span<const input_address> inputs);

} // namespace l3
