// SPDX-License-Identifier: Apache-2.0
// The boards of an event with their waveforms, taken out of its original fragments.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/inspect/found_event.hpp"
#include "tools/inspect/fragment_boards.hpp"

namespace l3 {

struct inspected_crate {
  std::uint8_t number = 0; ///< the electronics' name of the crate
  std::uint32_t bytes = 0; ///< of its fragment
  std::string problem;     ///< why the fragment is malformed; its boards are not known then
  std::vector<board_samples> boards; ///< no samples of channels whose waveforms were not kept
};

/// In the order of the readout; crates without a fragment are left out.
[[nodiscard]] std::vector<inspected_crate> crates_of(const found_event& event);

/// Numbers of the crates that the readout has and the event lacks.
[[nodiscard]] std::vector<std::uint8_t> missing_crates(const found_event& event);

} // namespace l3
