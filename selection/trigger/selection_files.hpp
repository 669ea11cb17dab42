// SPDX-License-Identifier: Apache-2.0
// The names of the files that describe the selection.
#pragma once

#include <string>

namespace l3 {

/// In place of a file name: what is compiled in.
inline constexpr const char* built_in = "built-in";

struct selection_files {
  std::string lines;               ///< cuts, counters, lines; empty: no selection, all is kept
  std::string detector = built_in; ///< channel map and geometry; empty: built-in
  std::string calibration;         ///< empty: the detector's nominal one
};

} // namespace l3
