// SPDX-License-Identifier: Apache-2.0
// How a node stands in its farm, as plain values, for run control, page and metrics.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "transport/accounting/enumerator_names.hpp"

namespace l3 {

enum class farm_state : std::uint8_t {
  joining, ///< etcd has not answered yet since the daemon's start
  joined,
  cut_off, ///< etcd has not answered for some seconds
  refused, ///< another daemon has this node's number, or etcd refuses this daemon
  left,    ///< the daemon ends
  count_
};

/// How a node of the farm is.
enum class farm_standing : std::uint8_t {
  in_order, ///< it is there, and in the run that the farm is in
  apart,    ///< it is there, and in another run, or in none
  missing,  ///< it has joined, did not leave, and does not speak
  count_
};

struct farm_node_report {
  std::uint32_t node = 0;
  farm_standing stands = farm_standing::missing;
  std::string host;
  std::string state; ///< of its run; empty: it is missing
  std::optional<std::uint32_t> run;
  std::string failure;
  std::optional<std::uint32_t> not_well; ///< its latest run that has ended, if a part not well
};

struct farm_run_report {
  std::uint32_t number = 0;
  std::string menu;
  std::string comment;
};

struct farm_report {
  farm_state state = farm_state::joining;
  std::string text; ///< what is wrong, and what to do; empty: nothing
  std::vector<farm_node_report> nodes;
  std::optional<farm_run_report> run;   ///< that the farm is in
  std::optional<farm_run_report> order; ///< that all nodes are asked for
  std::string failure;                  ///< why the latest order of this node came to nothing
  std::uint64_t failed_rounds = 0;
  std::uint64_t joined = 0; ///< times

  [[nodiscard]] std::size_t count(farm_standing which) const {
    std::size_t n = 0;
    for (const farm_node_report& node : nodes) n += node.stands == which ? 1 : 0;
    return n;
  }
};

} // namespace l3
