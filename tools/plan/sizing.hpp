// SPDX-License-Identifier: Apache-2.0
// What a rate needs: processors, nodes, network interfaces, memory, disk. Pure arithmetic on a
// table of costs; every assumption is a field here, and is printed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/plan/cost_table.hpp"

namespace l3 {

/// Rates in bytes a second.
struct sizing_wishes {
  double rate = 0;                     ///< into all nodes together, while the beam is on
  std::optional<std::uint32_t> nodes;  ///< nothing: as few as can be
  double duty = 2.0 / 4.24;            ///< part of the time that the beam is on
  double kept = 0.15;                  ///< part of the events
  double ratio = 3;                    ///< of compression
  double link = 4e9 / 8;               ///< out of all nodes together
  double interface = 100e9 / 8;        ///< a node's, into it
  double outage = 600;                 ///< seconds without a receiver that a node must ride out
  double outbox = 256.0 * (1U << 20U); ///< bytes of memory of a node for blocks that wait
  std::uint32_t processors = 0;        ///< of a node; 0: as many as it takes
  double headroom = 0.8;               ///< part of a processor that a thread may be busy
};

struct thread_load {
  thread_cost cost;
  double processors = 0; ///< busy, on one node in a spill
};

struct sizing {
  std::uint32_t nodes = 0;
  double node_input = 0;  ///< bytes a second, in a spill
  double node_output = 0; ///< bytes a second, packed, in a spill
  double mean_output = 0; ///< of all nodes, over the cycle
  std::vector<thread_load> threads;
  double processors = 0;                ///< busy on a node in a spill
  std::uint64_t processors_needed = 0;  ///< of a node, with headroom; 2^53: or more
  std::string first_to_saturate;        ///< the thread, of those that do not split without end
  std::uint32_t saturating_threads = 0; ///< of this name
  double saturates_at = 0;              ///< input of a node, bytes a second
  std::uint64_t interfaces = 0;         ///< likewise
  double outage_bytes = 0;              ///< of a node, that wait in memory and on disk
  double disk_bytes = 0;                ///< of these, beyond the outbox
  double disk_rate = 0;                 ///< bytes a second, written in a spill of the outage
  std::optional<double> drain_seconds;  ///< until what waited has left, beside what comes; or never
  std::vector<std::string> not_met;     ///< sentences; empty: the nodes suffice
};

[[nodiscard]] sizing size_for(const cost_table& costs, const sizing_wishes& wishes);

/// Busy processors of a node that takes `input` and gives `output` bytes a second.
[[nodiscard]] std::vector<thread_load> loads_at(const cost_table& costs, double input,
                                                double output);
[[nodiscard]] double sum_of(const std::vector<thread_load>& loads);

} // namespace l3
