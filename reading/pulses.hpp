// SPDX-License-Identifier: Apache-2.0
// The pulses of chosen channels as the trigger measures them: its own code runs on the samples of
// the chosen boards. Events that kept features have the pulses themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "reading/schema.hpp"
#include "reading/waveforms.hpp"
#include "selection/trigger/load_selection.hpp"

namespace l3::reading {

/// Where the pulses of an event go: `first_row` is that of its first channel.
struct pulse_target {
  void* const* columns;
  std::size_t first_row;
  std::span<std::uint8_t> state;
};

/// Writes rows without a pulse, and one state for all channels.
void clear_pulses(const pulse_target& to, std::size_t rows, l3_read_state state);

/// All channels on the boards of these.
[[nodiscard]] std::vector<channel_address> on_boards_of(std::span<const channel_address> channels,
                                                        std::uint32_t length);

/// In one thread.
class pulse_measurer {
public:
  /// `boards`: a plan of on_boards_of() the channels of `plan`.
  pulse_measurer(const loaded_selection& selection, const channel_plan& plan,
                 const channel_plan& boards);

  /// Writes states and rows over those of clear_pulses(). `boards`: those that are chosen. Returns
  /// false if one is damaged.
  bool measure(const packed_event_view& event, std::span<const found_board> boards,
               const pulse_target& to);

private:
  void measure_board(const found_board& board, const pulse_target& to);

  const loaded_selection& selection_;
  const channel_plan& plan_;
  const channel_plan& boards_;
  std::vector<std::uint16_t> samples_;
  std::vector<std::uint8_t> states_;
  std::vector<std::uint32_t> columns_; ///< of the channels of `plan` in that of `boards`
};

} // namespace l3::reading
