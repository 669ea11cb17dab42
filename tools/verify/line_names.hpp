// SPDX-License-Identifier: Apache-2.0
// Names of trigger lines by id. Events contain only ids; the names come from the settings in the
// store, or from a given selection.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "selection/trigger/settings.hpp"

namespace l3 {

/// The names of the selection's lines by id.
[[nodiscard]] std::map<std::uint32_t, std::string> line_names(const selection_settings& selection);
/// The names from settings text in a store; empty if it is no selection of this version.
[[nodiscard]] std::map<std::uint32_t, std::string> line_names(const std::string& selection);

} // namespace l3
