// SPDX-License-Identifier: Apache-2.0
// The complete selection as stored in the stream after some events (docs/formats.md, section 6):
// the texts of lines, detector and calibration, the readout, the mode. The same tables can be made
// from it on any machine, years later.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "selection/trigger/selection_files.hpp"
#include "transport/format/readout.hpp"

namespace l3 {

struct recorded_settings {
  std::string software; ///< program and version that decided
  readout crates;
  selection_mode mode = selection_mode::select;
  std::string lines;       ///< empty: no selection
  std::string detector;    ///< not empty if there is a selection
  std::string calibration; ///< empty: the nominal one

  friend bool operator==(const recorded_settings&, const recorded_settings&) = default;
};

/// A multiple of 8 bytes.
[[nodiscard]] std::vector<std::byte> encode(const recorded_settings& settings);
/// Returns nothing if the bytes are no settings. Ignores entries of later versions.
[[nodiscard]] std::optional<recorded_settings> decode_settings(std::span<const std::byte> bytes);

} // namespace l3
