// SPDX-License-Identifier: Apache-2.0
// What an engine is told to select: the algorithms by name, and the tables that they look into.
// Making one from files is make_tables.hpp's; without one an engine keeps every event.
#pragma once

#include <string>
#include <vector>

#include "selection/sequence/tables.hpp"

namespace l3 {

struct selection_program {
  std::vector<std::string> sequence;
  selection_tables tables; ///< in host memory, needed until the engine is made: it has its own copy
  /// Look after every algorithm whether what it wrote is what it promises, as far as its kernels
  /// run on host memory; start() then throws std::logic_error if it is not. For tests: it costs.
  bool check_promises = false;
};

} // namespace l3
