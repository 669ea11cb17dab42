// SPDX-License-Identifier: Apache-2.0
// The boards and waveforms of an event, from its original fragments.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/inspect/found_event.hpp"
#include "tools/inspect/fragment_boards.hpp"

namespace l3 {

struct inspected_crate {
  std::uint8_t number = 0;           ///< number of the crate in the electronics
  std::uint32_t bytes = 0;           ///< of its fragment
  std::string problem;               ///< why the fragment is malformed; its boards are then unknown
  std::vector<board_samples> boards; ///< without samples of waveforms that were not kept
};

/// In the order of the readout, without crates that have no fragment.
[[nodiscard]] std::vector<inspected_crate> crates_of(const found_event& event);

/// Numbers of the readout's crates that the event lacks.
[[nodiscard]] std::vector<std::uint8_t> missing_crates(const found_event& event);

} // namespace l3
