// SPDX-License-Identifier: Apache-2.0
// The inputs of an event that `koto-l3 inspect` shows: those requested by address or detector
// channel, or else the highest pulses.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "selection/detector/detector.hpp"
#include "tools/inspect/event_boards.hpp"

namespace l3 {

struct inspected_channel {
  input_address at;
  std::string name; ///< "crystal 17", "CBAR module 3 end 1"; empty if unknown
  board_kind kind = board_kind::sampling_125_mhz;
  std::span<const std::uint16_t> samples; ///< valid as long as the crates
  double pedestal = 0;                    ///< the median
  std::uint16_t least = 0;
  std::uint16_t most = 0;
  std::size_t peak = 0; ///< index of the sample `most`

  [[nodiscard]] double height() const { return most - pedestal; }
  /// ns between two samples.
  [[nodiscard]] double step() const { return kind == board_kind::sampling_125_mhz ? 8 : 2; }
};

/// All channels in the order of the readout. Without a detector they have no names.
[[nodiscard]] std::vector<inspected_channel> channels_of(const std::vector<inspected_crate>& crates,
                                                         const detector* names);

/// The channels that `wanted` names: "11", "11/3", "11/3/0", "crystal 17", "CBAR". Throws
/// command_error if one of these names no channel.
[[nodiscard]] std::vector<inspected_channel>
chosen_channels(const std::vector<inspected_channel>& all, const std::vector<std::string>& wanted);

/// The highest ones, by falling height.
[[nodiscard]] std::vector<inspected_channel>
highest_channels(const std::vector<inspected_channel>& all, std::size_t count);

// Draws waveforms on a terminal.

/// One line of at most 64 blocks; in longer waveforms each block shows the highest of several
/// samples.
[[nodiscard]] std::string line_drawing(const inspected_channel& c);

/// Eight lines, with counts on the left and time below.
[[nodiscard]] std::string block_drawing(const inspected_channel& c);

} // namespace l3
