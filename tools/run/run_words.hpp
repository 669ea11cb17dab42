// SPDX-License-Identifier: Apache-2.0
// What run control answers, in words for a terminal, and what became of a run that was asked for.
// The words of other people (comments, menus, failures) may hold anything: none of it is a control
// character here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <boost/json.hpp>

namespace l3 {

/// Several lines: the state, the run in force, the next one, the last one.
[[nodiscard]] std::string table_of(const boost::json::object& status);

/// How a wait ends; nothing: it goes on.
struct run_outcome {
  std::string failure; ///< empty: what was asked for has happened
};
/// Of a start whose run has this number.
[[nodiscard]] std::optional<run_outcome> outcome_of_start(const boost::json::object& status,
                                                          std::uint32_t number);
/// Of a stop of the run that has this number, or waits under it.
[[nodiscard]] std::optional<run_outcome> outcome_of_stop(const boost::json::object& status,
                                                         std::uint32_t number);

// The same of all nodes of a farm.
[[nodiscard]] bool is_of_a_farm(const boost::json::object& status);
[[nodiscard]] std::optional<run_outcome> outcome_of_start_of_all(const boost::json::object& status,
                                                                 std::uint32_t number);
/// `number`: nothing if the farm was in no run.
[[nodiscard]] std::optional<run_outcome>
outcome_of_stop_of_all(const boost::json::object& status, std::optional<std::uint32_t> number);
/// In which the farm is; nothing: in none.
[[nodiscard]] std::optional<std::uint32_t> run_of_farm(const boost::json::object& status);

/// The number of the run in "current", "next" or "last".
[[nodiscard]] std::optional<std::uint32_t> number_of_run(const boost::json::object& status,
                                                         const char* which);

} // namespace l3
