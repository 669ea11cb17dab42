// SPDX-License-Identifier: Apache-2.0
// The program of a selection: the names of its algorithms, and their tables.
// trigger/load_selection.hpp makes a program from files. An engine without a program keeps every
// event.
#pragma once

#include <string>
#include <vector>

#include "selection/sequence/tables.hpp"

namespace l3 {

struct selection_program {
  std::vector<std::string> sequence;
  selection_tables tables; ///< in host memory; the engine copies them at its construction
  /// One in this many events is sampled for channel histograms; 0: no histograms.
  std::uint32_t histograms_one_in = 0;
  /// For tests, because it is slow: after every algorithm on host memory, start() checks the
  /// algorithm's promises, and throws std::logic_error if one is broken.
  bool check_promises = false;
};

} // namespace l3
