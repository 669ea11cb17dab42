// SPDX-License-Identifier: Apache-2.0
// Reads the selection's settings from TOML; deploy/selection.toml, which is compiled in,
// explains every key. All mistakes of a file are reported together, each with its place and
// remedy. Values that need the detector, such as names of counters, are checked when the tables
// are made (selection/trigger/make_tables.hpp), and names of algorithms when the sequence is
// planned.
#pragma once

#include <string>
#include <string_view>

#include "config/toml/complaints.hpp"
#include "selection/detector/detector.hpp"
#include "selection/trigger/settings.hpp"

namespace l3 {

/// Throws bad_file (config/toml/complaints.hpp).
[[nodiscard]] selection_settings parse_selection(std::string_view toml, const std::string& name);
/// The settings that are compiled in.
[[nodiscard]] selection_settings default_selection();
[[nodiscard]] std::string_view default_selection_text();

} // namespace l3
