// SPDX-License-Identifier: Apache-2.0
// The report of `koto-l3 inspect` for people and programs. Masks of the summary are shown as names
// of lines, counters and trigger bits, if a selection with these names is given. A line is
// identified by its id, but a counter only by its place, so the report says whether the selection
// is the original one.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "selection/trigger/load_selection.hpp"
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

/// A stored summary with names instead of masks.
struct named_line {
  std::string name; ///< "line 0xd481130a" if the selection does not know it
  std::uint32_t prescale = 0;
  bool fired = false;
  bool kept = false;
  std::string reason; ///< why it did not keep the event; empty if it did, or if unknown
};

struct named_hit {
  std::string counter;
  veto_hit_summary hit;
};

struct named_summary {
  std::vector<named_line> lines;
  std::vector<std::string> trigger; ///< names of the level-1 bits
  std::vector<std::string> vetoes;  ///< "counter 3" without a detector
  std::vector<std::string> unknown;
  std::vector<named_hit> hits;
  std::vector<std::string> status; ///< why it was not judged, or was kept anyway
  bool same_settings = false;      ///< the given selection is the original one
};

/// "line 0xd481130a" if the selection does not know it or is missing.
[[nodiscard]] std::string name_of_line(std::uint32_t id, const loaded_selection* selection);
[[nodiscard]] std::vector<std::string> names_of_trigger(std::uint32_t bits);
/// `selection` may be null, or differ from the original one.
[[nodiscard]] named_summary name_summary(const summary_view& s, const loaded_selection* selection);

} // namespace l3
