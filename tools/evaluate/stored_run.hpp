// SPDX-License-Identifier: Apache-2.0
// A selection run over a store or a spool: every event is decided again, in the order in which it
// is stored, with the run that its block names. What cannot be read is left out and counted. Either
// the selection is given, or it is that of the settings that are stored with the events: then each
// event is compared with what was decided before, bit for bit, or refused with the reason.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "tools/evaluate/block_selector.hpp"
#include "tools/evaluate/stored_events.hpp"

namespace l3 {

/// Calls f for each event. Throws command_error; an event that does not fit the readout ends it.
unreadable_parts for_each_stored(
    const std::filesystem::path& folder, const selection_options& how, const readout& crates,
    const std::function<void(const block_selector&, const decided_event&)>& f, interrupt& signals);

struct recorded_event {
  std::uint32_t run = 0;
  event_key key;
  const block_selector* by = nullptr; ///< null: it is not decided
  const decided_event* now = nullptr;
  bool as_stored = false; ///< the summary has the same bytes
  std::string refusal;    ///< why it is not decided; empty if no selection ran, either
};

/// Calls f for each event, in the order in which they are stored. `how` says where the kernels run.
/// Throws command_error.
unreadable_parts for_each_recorded(const std::filesystem::path& folder,
                                   const selection_options& how,
                                   const std::function<void(const recorded_event&)>& f,
                                   interrupt& signals);

} // namespace l3
