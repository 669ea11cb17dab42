// SPDX-License-Identifier: Apache-2.0
// Runs a selection over a store or a spool: every event is decided again, in the order of storage,
// with the run of its block. Skips and counts unreadable parts. The selection is given, or it comes
// from the settings stored with the events. In the second case each event is compared with the
// stored decision bit by bit, or refused with a reason.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "tools/evaluate/block_selector.hpp"
#include "tools/evaluate/stored_events.hpp"

namespace l3 {

/// Calls f for each event. Throws command_error, also for an event that does not fit the readout.
unreadable_parts for_each_stored(
    const std::filesystem::path& folder, const selection_options& how, const readout& crates,
    const std::function<void(const block_selector&, const decided_event&)>& f, interrupt& signals);

struct recorded_event {
  std::uint32_t run = 0;
  event_key key;
  const block_selector* by = nullptr; ///< null: not decided
  const decided_event* now = nullptr;
  bool as_stored = false; ///< the summary is identical
  std::string refusal;    ///< why it is not decided; also empty if no selection ran
};

/// Calls f for each event in the order of storage. `how` selects the executor. Throws
/// command_error.
unreadable_parts for_each_recorded(const std::filesystem::path& folder,
                                   const selection_options& how,
                                   const std::function<void(const recorded_event&)>& f,
                                   interrupt& signals);

} // namespace l3
