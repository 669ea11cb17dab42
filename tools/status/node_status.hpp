// SPDX-License-Identifier: Apache-2.0
// The /status of a daemon or a receiver as a table row. Missing values, and values of another type,
// are left out, because programs of other versions may answer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>

#include "monitor/trouble.hpp"

namespace l3 {

/// A trouble of monitor/trouble.hpp, as a node tells it.
struct node_trouble {
  severity how_bad = severity::warning;
  losing loses = losing::no;
  double share = 0;
  std::optional<double> seconds_left{};
  std::string text; ///< "crate_fault, losing 12 % of the events: crate 7 is silent; look at …"
  boost::json::object all;
};

struct node_status {
  std::string url;
  std::string failure; ///< why there is no response; the members below are then invalid
  std::string program;
  std::string state;
  std::vector<node_trouble> troubles; ///< also of a node that does not answer or waits for a person
  bool ready = false;
  std::optional<std::uint64_t> run{};
  std::optional<std::uint64_t> node{};
  std::string worst_crate; ///< "11: silent"; empty: no faulty crate
  std::optional<double> disk_seconds_left{};
  std::optional<double> disk_room{}; ///< bytes
  std::string session;               ///< of its run; empty: no run, or a receiver
  double uptime = 0;                 ///< s
  // Counts since the start of its run or the program's start; their differences give rates.
  double events = 0; ///< admitted, or stored
  double bytes_in = 0;
  double bytes_out = 0;

  /// The worst severity of its troubles; nothing without a trouble.
  [[nodiscard]] std::optional<severity> worst() const {
    const auto worst = std::ranges::max_element(troubles, {}, &node_trouble::how_bad);
    return worst == troubles.end() ? std::nullopt : std::optional(worst->how_bad);
  }
  /// Whether it answers, is ready, and has no trouble but notes.
  [[nodiscard]] bool good() const {
    return failure.empty() && ready && worst().value_or(severity::note) == severity::note;
  }
};

/// The status of a node that does not answer.
[[nodiscard]] node_status no_answer(const std::string& url, const std::string& failure);

/// Parses the body of /status. A body that is no JSON object gives a failure.
[[nodiscard]] node_status read_status(const std::string& url, std::string_view body);

struct node_rates {
  double events = 0; ///< per second
  double bytes_in = 0;
  double bytes_out = 0;
};
/// Nothing if the second status is not later, or belongs to another start.
[[nodiscard]] std::optional<node_rates> rates_between(const node_status& before,
                                                      const node_status& after);

struct node_row {
  node_status status;
  std::optional<node_rates> rates{};
};
/// A table, then one line per trouble, the most urgent of all nodes first.
[[nodiscard]] std::string table_of(const std::vector<node_row>& rows);
[[nodiscard]] boost::json::object json_of(const std::vector<node_row>& rows);

} // namespace l3
