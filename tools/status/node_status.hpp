// SPDX-License-Identifier: Apache-2.0
// What the /status of a daemon or a receiver says, reduced to a row that an operator reads. What is
// missing in it, or is of another type, is left out of the row: programs of other versions answer,
// too.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>

namespace l3 {

struct node_status {
  std::string url;
  std::string failure; ///< why there is no answer; then nothing below has a meaning
  std::string program;
  std::string state;
  std::vector<std::string> degraded;
  bool ready = false;
  std::optional<std::uint64_t> run{};
  std::optional<std::uint64_t> node{};
  std::string worst_crate; ///< "11: silent"; empty: none is bad
  std::string problem;     ///< what is wrong most, and what to do
  std::optional<double> disk_seconds_left{};
  std::optional<double> disk_room{}; ///< bytes
  std::string session;               ///< of its run; empty: it is in none, or a receiver
  double uptime = 0;                 ///< s
  // Since the beginning of its run, or its program's start; their differences give rates.
  double events = 0; ///< admitted, or stored
  double bytes_in = 0;
  double bytes_out = 0;

  /// It answers, is ready, and nothing is degraded.
  [[nodiscard]] bool good() const {
    return failure.empty() && ready && degraded.empty() && problem.empty() && worst_crate.empty();
  }
};

/// From the body of /status. A body that is no JSON object is a failure.
[[nodiscard]] node_status read_status(const std::string& url, std::string_view body);

struct node_rates {
  double events = 0; ///< a second
  double bytes_in = 0;
  double bytes_out = 0;
};
/// Nothing if the second is not later than the first, or of another start.
[[nodiscard]] std::optional<node_rates> rates_between(const node_status& before,
                                                      const node_status& after);

struct node_row {
  node_status status;
  std::optional<node_rates> rates{};
};
/// A table, then a line for each problem.
[[nodiscard]] std::string table_of(const std::vector<node_row>& rows);
[[nodiscard]] boost::json::object json_of(const std::vector<node_row>& rows);

} // namespace l3
