// SPDX-License-Identifier: Apache-2.0
// The report of `koto-l3 inspect` for people and programs. Masks of the summary are shown as names
// of lines, counters and trigger bits, if a selection with these names is given
// (selection/display/summary_names.hpp).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "selection/display/summary_names.hpp"
#include "tools/inspect/found_event.hpp"
#include "transport/store/event_view.hpp"

namespace l3 {

struct inspected_event {
  const found_event& event;
  const std::vector<inspected_crate>& crates;
  std::span<const inspected_channel> shown;
  const loaded_selection* selection = nullptr; ///< for names; may not be the original selection
};

[[nodiscard]] std::string report_text(const inspected_event& e);
[[nodiscard]] std::string report_json(const inspected_event& e);

} // namespace l3
