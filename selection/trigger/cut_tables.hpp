// SPDX-License-Identifier: Apache-2.0
// The tables made from the settings: cuts, vetoes, lines. Settings meet the detector
// here, so names of counters are checked here, and thresholds against the digitizers'
// range.
#pragma once

#include <cstdint>
#include <vector>

#include "selection/detector/calibration.hpp"
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

// Finds neighbouring crystals: those within a given reach in both x and y; sizes do not matter.
// Clusters need nothing else of the geometry, so the table is made once, at the start, from the
// places only.

/// selection_tables::crystals and ::neighbours, as vectors.
struct neighbour_table {
  std::vector<crystal_entry> crystals;   ///< plus one after the last
  std::vector<std::uint16_t> neighbours; ///< for each crystal those with lower numbers, sorted
};

/// Reads only the places of `crystals`, 65 536 at most. `reach` is in 0.1 mm; crystals exactly that
/// far apart are neighbours.
[[nodiscard]] neighbour_table find_neighbours(std::vector<crystal_entry> crystals,
                                              std::int32_t reach);

/// The tables of the waveforms kept in a suppressed event: the range of quiet samples of each
/// input, and the inputs whose high samples keep a quiet waveform. They are computed from the
/// calibration's pedestals and noise with integers, as docs/formats.md states, so that readers of
/// the stream get the same result.
struct level_tables {
  std::vector<input_levels> levels; ///< by input, plus one after the last
  std::vector<std::uint16_t> kept_with;
  std::uint32_t hash = 0; ///< of both, never 0
};

[[nodiscard]] level_tables make_level_tables(const detector& d, const calibration& c,
                                             const selection_settings& settings);

} // namespace l3
