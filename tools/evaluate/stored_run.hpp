// SPDX-License-Identifier: Apache-2.0
// A selection run over a store or a spool: every event is decided again, in the order in which it
// is stored, with the run that its block names. What cannot be read is left out and counted.
#pragma once

#include <filesystem>
#include <functional>

#include "tools/evaluate/block_selector.hpp"
#include "tools/evaluate/stored_events.hpp"

namespace l3 {

/// Calls f for each event. Throws command_error; an event that does not fit the readout ends it.
unreadable_parts for_each_stored(
    const std::filesystem::path& folder, const selection_options& how, const readout& crates,
    const std::function<void(const block_selector&, const decided_event&)>& f, interrupt& signals);

} // namespace l3
