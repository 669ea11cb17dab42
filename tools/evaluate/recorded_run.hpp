// SPDX-License-Identifier: Apache-2.0
// Decides the events of a store or a spool again by the settings that are stored with them, and
// compares each with what was decided then, bit for bit. Nothing else is needed, whatever became of
// the files that the daemon read. An event that cannot be decided alike is refused with the reason.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "tools/evaluate/block_selector.hpp"
#include "tools/evaluate/stored_run.hpp"

namespace l3 {

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
