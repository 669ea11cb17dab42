// SPDX-License-Identifier: Apache-2.0
// What the user says of the selection: the names of the files that describe it, and its mode.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "selection/trigger/built_in.hpp"

namespace l3 {

enum class selection_mode : std::uint8_t {
  select, ///< the lines decide which events are kept
  record, ///< every event is kept, with what the lines decide
};

struct selection_files {
  std::string lines;               ///< cuts, counters, lines; empty: no selection, all is kept
  std::string detector = built_in; ///< channel map and geometry; empty: built-in
  std::string calibration;         ///< empty: the detector's nominal one
  selection_mode mode = selection_mode::select;
  std::string shadow{}; ///< lines that are judged beside these, and decide nothing; empty: none
  std::uint32_t shadow_one_in = 10; ///< batches
};

/// The files of the shadow menu, which `files` names. It has the mode of the menu in force: while
/// every event is recorded, both keep all waveforms, so that the bytes of one compare with those of
/// the other.
[[nodiscard]] inline selection_files shadow_of(selection_files files) {
  files.lines = std::exchange(files.shadow, {});
  return files;
}

} // namespace l3
