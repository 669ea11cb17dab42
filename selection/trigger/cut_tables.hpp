// SPDX-License-Identifier: Apache-2.0
// The tables made from the settings: cuts, vetoes, lines. Settings meet the detector
// here, so names of counters are checked here, and thresholds against the digitizers'
// range.
#pragma once

#include <vector>

#include "selection/detector/detector.hpp"
#include "selection/sequence/tables.hpp"
#include "selection/trigger/settings.hpp"

namespace l3 {

struct cut_tables {
  selection_constants constants; ///< except run and settings
  std::vector<veto_entry> vetoes;
  std::vector<line_entry> lines;
};

/// Throws bad_file (config/toml/complaints.hpp).
[[nodiscard]] cut_tables make_cut_tables(const detector& d, const selection_settings& settings);

} // namespace l3
