// SPDX-License-Identifier: Apache-2.0
// What `koto-l3 inspect` says of an event, for people and for programs. The summary's masks are
// told by the names of lines, counters and trigger bits, as far as a selection is given that knows
// them: a line is known by its id, a counter only by its place, so the report says whether the
// selection is the one that was in force.
#pragma once

#include <span>
#include <string>

#include "selection/trigger/load_selection.hpp"
#include "tools/inspect/channels.hpp"
#include "tools/inspect/event_boards.hpp"
#include "tools/inspect/found_event.hpp"

namespace l3 {

struct inspected_event {
  const found_event& event;
  const std::vector<inspected_crate>& crates;
  std::span<const inspected_channel> shown;
  const loaded_selection* selection = nullptr; ///< for names; may be another than was in force
};

[[nodiscard]] std::string report_text(const inspected_event& e);
[[nodiscard]] std::string report_json(const inspected_event& e);

} // namespace l3
