// SPDX-License-Identifier: Apache-2.0
// A node's standing in its farm as plain values, for run control, page and metrics.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "transport/accounting/enumerator_names.hpp"

namespace l3 {

enum class farm_state : std::uint8_t {
  joining, ///< etcd has not responded since the daemon's start
  joined,
  cut_off, ///< etcd has not responded for some seconds
  refused, ///< another daemon has this node's number, or etcd refuses this daemon
  left,    ///< the daemon ends
  count_
};

/// The standing of a farm's node.
enum class farm_standing : std::uint8_t {
  in_order, ///< present, and in the farm's run
  apart,    ///< present, but in another run or in none
  missing,  ///< joined and did not leave, but is silent
  count_
};

struct farm_node_report {
  std::uint32_t node = 0;
  farm_standing stands = farm_standing::missing;
  std::string host;
  std::string state; ///< of its run; empty: the node is missing
  std::optional<std::uint32_t> run;
  std::string failure;
  std::optional<std::uint32_t> not_well; ///< its latest ended run with a part that did not end well
};

struct farm_run_report {
  std::uint32_t number = 0;
  std::string menu;
  std::string comment;
};

struct farm_report {
  farm_state state = farm_state::joining;
  std::string text; ///< what is wrong and what to do; empty: nothing is wrong
  std::vector<farm_node_report> nodes;
  std::optional<farm_run_report> run;   ///< the farm's run
  std::optional<farm_run_report> order; ///< the proposed run
  std::string failure;                  ///< why this node's latest order failed
  std::uint64_t failed_rounds = 0;
  std::uint64_t joined = 0; ///< how often it joined

  [[nodiscard]] std::size_t count(farm_standing which) const {
    std::size_t n = 0;
    for (const farm_node_report& node : nodes) n += node.stands == which ? 1 : 0;
    return n;
  }
};

} // namespace l3
