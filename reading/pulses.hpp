// SPDX-License-Identifier: Apache-2.0
// The pulses of chosen channels as the trigger measures them: measure_pulses runs on the rebuilt
// packets of the chosen boards. Events that kept features have the pulses themselves.
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

/// In one thread.
class pulse_measurer {
public:
  pulse_measurer(const loaded_selection& selection, const channel_plan& plan)
      : selection_(selection), plan_(plan) {}

  /// Writes states and rows over those of clear_pulses(). Returns false if a chosen board is
  /// damaged.
  bool measure(const packed_event_view& event, const pulse_target& to);

private:
  void measure_fragment(const packed_event_view& event, std::uint32_t index,
                        const pulse_target& to);
  void write_channel(const channel_plan::chosen& c, std::uint32_t first_input,
                     std::span<const packed_pulse> rows, l3_read_state state, std::uint32_t present,
                     const pulse_target& to);

  const loaded_selection& selection_;
  const channel_plan& plan_;
  std::vector<std::byte> fragment_;
};

} // namespace l3::reading
