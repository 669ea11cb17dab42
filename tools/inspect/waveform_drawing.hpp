// SPDX-License-Identifier: Apache-2.0
// Draws waveforms on a terminal.
#pragma once

#include <string>

#include "tools/inspect/channels.hpp"

namespace l3 {

/// One line of at most 64 blocks; in longer waveforms each block shows the highest of several
/// samples.
[[nodiscard]] std::string line_drawing(const inspected_channel& c);

/// Eight lines, with counts on the left and time below.
[[nodiscard]] std::string block_drawing(const inspected_channel& c);

} // namespace l3
