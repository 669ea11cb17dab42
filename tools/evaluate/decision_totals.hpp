// SPDX-License-Identifier: Apache-2.0
// What a selection decided on many events: how often each line fired, kept, and refused, and for
// which reason.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include <boost/json/array.hpp>

#include "selection/engine/engine.hpp"
#include "selection/trigger/load_selection.hpp"

namespace l3 {

struct line_total {
  std::uint64_t fired = 0;
  std::uint64_t kept = 0;
  std::array<std::uint64_t, 256> reasons{}; ///< events by the reason why the line did not keep them
};

struct decision_totals {
  explicit decision_totals(std::size_t line_count) : lines(line_count) {}

  void add(const event_summary& s);

  std::uint64_t events = 0;
  std::uint64_t kept = 0;
  std::uint64_t not_judged = 0;  ///< overfull, kept or not
  std::vector<line_total> lines; ///< in the order of their bits
};

/// An object for each line: `line`, `id`, `prescale`, `fired`, `kept`, `refused` by reason.
[[nodiscard]] boost::json::array lines_to_json(const decision_totals& t,
                                               const loaded_selection& selection);
/// A table of the lines, and how many events were kept, on standard output.
void print_totals(const decision_totals& t, const loaded_selection& selection);

} // namespace l3
