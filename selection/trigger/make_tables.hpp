// SPDX-License-Identifier: Apache-2.0
// Converts the detector, its calibration and the selection's settings to the integers of
// selection/sequence/tables.hpp for the algorithms, once at the start.
#pragma once

#include <vector>

#include "selection/detector/calibration.hpp"
#include "selection/sequence/tables.hpp"
#include "selection/trigger/selection_files.hpp"
#include "selection/trigger/settings.hpp"

namespace l3 {

/// Owns the tables in host memory.
struct host_tables {
  selection_constants constants;
  std::vector<std::uint16_t> first_board;
  std::vector<std::uint32_t> board_vetoes;
  std::vector<input_entry> inputs;
  std::vector<crystal_entry> crystals;
  std::vector<std::uint16_t> neighbours;
  std::vector<module_entry> modules;
  std::vector<veto_entry> vetoes;
  std::vector<attenuation_entry> attenuation;
  std::vector<line_entry> lines;
  std::vector<packed_line> packed_lines;
  std::vector<packed_line_payload> packed_payloads; ///< empty if all lines keep all waveforms
  std::vector<input_levels> levels;
  std::vector<std::uint16_t> kept_with;

  /// Valid as long as the vectors do not change.
  [[nodiscard]] selection_tables view() const;
};

/// A hash of the whole selection: algorithms, cuts, vetoes, lines, mode, calibration and geometry,
/// but not the run (constants.run, .settings). Each selected event has it, so that analysts know
/// the selection; two files with the same number select alike. FNV-1a, 32 bits.
[[nodiscard]] std::uint32_t hash_of(const host_tables& t, const selection_settings& settings);

/// Throws std::runtime_error, "the detector …", if the algorithms have no room for it or if it is
/// empty.
void check_fits(const detector& d, const calibration& c);

/// Throws bad_file if the settings do not fit the detector, and as check_fits does.
[[nodiscard]] host_tables make_tables(const detector& d, const calibration& c,
                                      const selection_settings& settings, std::uint32_t run,
                                      selection_mode mode = selection_mode::select);

} // namespace l3
