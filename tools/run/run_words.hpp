// SPDX-License-Identifier: Apache-2.0
// Texts about run control's answers, and the outcome of a requested run. Text of people (comments,
// menus, failures) may contain anything; control characters are removed here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <boost/json.hpp>

namespace l3 {

/// Several lines: the state, the active run, the next one, the last one.
[[nodiscard]] std::string table_of(const boost::json::object& status);

/// The result of a wait; nothing while it continues.
struct run_outcome {
  std::string failure; ///< empty: success
};
/// The outcome of a start of the run with this number.
[[nodiscard]] std::optional<run_outcome> outcome_of_start(const boost::json::object& status,
                                                          std::uint32_t number);
/// The outcome of a stop of the active or waiting run with this number.
[[nodiscard]] std::optional<run_outcome> outcome_of_stop(const boost::json::object& status,
                                                         std::uint32_t number);

// The same for all nodes of a farm.
[[nodiscard]] bool is_of_a_farm(const boost::json::object& status);
[[nodiscard]] std::optional<run_outcome> outcome_of_start_of_all(const boost::json::object& status,
                                                                 std::uint32_t number);
/// `number`: nothing if the farm was in no run.
[[nodiscard]] std::optional<run_outcome>
outcome_of_stop_of_all(const boost::json::object& status, std::optional<std::uint32_t> number);
/// The farm's run, if there is one.
[[nodiscard]] std::optional<std::uint32_t> run_of_farm(const boost::json::object& status);

/// The number of the run in "current", "next" or "last".
[[nodiscard]] std::optional<std::uint32_t> number_of_run(const boost::json::object& status,
                                                         const char* which);

/// Sends requests to a daemon's run control (docs/run-control.md) over its unix socket.
struct control_answer {
  unsigned status = 0;
  boost::json::object body;

  [[nodiscard]] bool good() const { return status >= 200 && status < 300; }
};

/// GET without a body, else POST. Throws command_error: 69 if no daemon listens there or access is
/// denied, 1 for invalid responses.
[[nodiscard]] control_answer ask_control(const std::string& socket, const std::string& path,
                                         const std::string& body);

} // namespace l3
