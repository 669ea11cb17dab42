// SPDX-License-Identifier: Apache-2.0
// The part of the tables that follows from the settings: cuts, vetoes, lines. Here settings meet
// the detector, so here names of counters are checked, and thresholds against what the digitizers
// can give.
#pragma once

#include <vector>

#include "selection/detector/detector.hpp"
#include "selection/sequence/tables.hpp"
#include "selection/trigger/settings.hpp"

namespace l3 {

struct cut_tables {
  selection_constants constants; ///< but for run and settings
  std::vector<veto_entry> vetoes;
  std::vector<line_entry> lines;
};

/// Throws bad_file (config/toml/complaints.hpp).
[[nodiscard]] cut_tables make_cut_tables(const detector& d, const selection_settings& settings);

} // namespace l3
