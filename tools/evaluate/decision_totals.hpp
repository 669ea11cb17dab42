// SPDX-License-Identifier: Apache-2.0
// The totals of a selection's decisions: how often each line fired, kept and refused, with reasons.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "selection/engine/engine.hpp"
#include "selection/trigger/load_selection.hpp"

namespace l3 {

struct line_total {
  std::uint64_t fired = 0;
  std::uint64_t kept = 0;
  std::array<std::uint64_t, 256> reasons{}; ///< events by the reason why the line refused them
};

struct decision_totals {
  explicit decision_totals(std::size_t line_count) : lines(line_count) {}

  void add(const event_summary& s);

  std::uint64_t events = 0;
  std::uint64_t kept = 0;
  std::uint64_t not_judged = 0;  ///< overfull, kept or not
  std::vector<line_total> lines; ///< in the order of their bits
};

/// Events by the reason why a line did not keep them, the most frequent first. `events` is indexed
/// by line_reason.
[[nodiscard]] std::vector<std::pair<std::uint64_t, std::string>>
reasons_by_frequency(std::span<const std::uint64_t> events);
/// The same as an object, in the order of the reasons.
[[nodiscard]] boost::json::object reasons_to_json(std::span<const std::uint64_t> events);
/// An object for each line: `line`, `id`, `prescale`, `fired`, `kept`, `refused` by reason.
[[nodiscard]] boost::json::array lines_to_json(const decision_totals& t,
                                               const loaded_selection& selection);
/// Prints a table of the lines and the number of kept events to standard output.
void print_totals(const decision_totals& t, const loaded_selection& selection);

} // namespace l3
