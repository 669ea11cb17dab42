// SPDX-License-Identifier: Apache-2.0
// A stored summary with names instead of masks. A line is identified by its id, but a counter only
// by its place, so the names say whether the selection is the original one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "selection/trigger/load_selection.hpp"
#include "transport/store/event_view.hpp"

namespace l3 {

struct named_line {
  std::string name; ///< "line 0xd481130a" if the selection does not know it
  std::uint32_t prescale = 0;
  bool fired = false;
  bool kept = false;
  std::string reason; ///< why it did not keep the event; empty if it did, or if unknown
  std::string why;    ///< the reason with counters and values: "photons: 4, not 2"
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
// `selection` may be null, or differ from the original one.
[[nodiscard]] named_summary name_summary(const summary_view& s, const loaded_selection* selection);
/// With the integers of docs/formats.md, section 7. With a selection, hits say whether they count.
[[nodiscard]] boost::json::object summary_json(const summary_view& s,
                                               const loaded_selection* selection);

} // namespace l3
