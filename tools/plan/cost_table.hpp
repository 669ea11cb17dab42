// SPDX-License-Identifier: Apache-2.0
// What a node's threads cost: seconds of processor time for each gigabyte, as a bench measured them
// on some machine. `koto-l3 plan` computes with the table that is compiled in, or with one from a
// file: the report of `koto-l3-bench sizing`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <boost/json/value.hpp>

namespace l3 {

struct thread_cost {
  std::string name;   ///< of the thread (docs/architecture.md)
  bool input = true;  ///< by bytes that come in; else by bytes of packed events that leave
  bool splits = true; ///< over more processors: the pool's workers, the threads of UDP
  double seconds_per_gigabyte = 0;
  double idle = 0; ///< processors that it takes without data
};

struct cost_table {
  std::string measured; ///< where, when, with which program
  std::string way;      ///< "tcp" or "udp"
  std::vector<thread_cost> threads;
};

/// Measured on the machine of docs/sizing.md.
[[nodiscard]] cost_table built_in_costs(bool udp);

[[nodiscard]] boost::json::value to_json(const cost_table& t);
/// Of a file that holds a table, alone or as `table` of a bench's report. Throws command_error.
[[nodiscard]] cost_table read_cost_table(const std::string& file);

/// Processors that it can keep busy; 0: any number. Threads of UDP build events under one lock:
/// more than two of them were not measured.
[[nodiscard]] std::uint32_t most_processors(const thread_cost& c);

/// How a daemon's thread of this name is counted. Threads without a name of their own are the
/// pool's workers and main.
[[nodiscard]] thread_cost kind_of_thread(const std::string& name);

} // namespace l3
