// SPDX-License-Identifier: Apache-2.0
// Waveforms for a terminal.
#pragma once

#include <string>

#include "tools/inspect/channels.hpp"

namespace l3 {

/// One line of at most 64 blocks; of longer waveforms each block is the highest of some samples.
[[nodiscard]] std::string line_drawing(const inspected_channel& c);

/// Eight lines, with the counts at their left and the time below.
[[nodiscard]] std::string block_drawing(const inspected_channel& c);

} // namespace l3
