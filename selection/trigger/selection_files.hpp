// SPDX-License-Identifier: Apache-2.0
// The user's selection: the names of its files, and its mode.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "selection/trigger/built_in.hpp"

namespace l3 {

enum class selection_mode : std::uint8_t {
  select, ///< the lines decide which events are kept
  record, ///< every event is kept with the lines' decisions
};

struct selection_files {
  std::string lines;               ///< cuts, counters, lines; empty: all events are kept
  std::string detector = built_in; ///< channel map and geometry; empty: built-in
  std::string calibration;         ///< empty: the detector's nominal one
  selection_mode mode = selection_mode::select;
  std::string shadow{};             ///< file of the shadow menu, which only judges; empty: none
  std::uint32_t shadow_one_in = 10; ///< one batch in so many
};

/// The files of the shadow menu in `files`. It uses the mode of the active menu: if
/// every event is recorded, both keep all waveforms, so that their bytes can be
/// compared.
[[nodiscard]] inline selection_files shadow_of(selection_files files) {
  files.lines = std::exchange(files.shadow, {});
  return files;
}

} // namespace l3
