// SPDX-License-Identifier: Apache-2.0
// The program of a selection: the names of the algorithms, and the tables that they read.
// trigger/load_selection.hpp makes a program from files. An engine without a program keeps every
// event.
#pragma once

#include <string>
#include <vector>

#include "selection/sequence/tables.hpp"

namespace l3 {

struct selection_program {
  std::vector<std::string> sequence;
  selection_tables tables; ///< in host memory; the engine copies them when it is made
  /// Histograms are made, with the channels of one event in so many; 0: no histograms.
  std::uint32_t histograms_one_in = 0;
  /// For tests, as it takes time: after every algorithm that runs on host memory, start() checks
  /// what the algorithm promises, and throws std::logic_error if it broke a promise.
  bool check_promises = false;
};

} // namespace l3
