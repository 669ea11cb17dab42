// SPDX-License-Identifier: Apache-2.0
// Names of trigger lines by their ids. Events say ids alone; the names are those of the settings
// that decided them, which the store holds, or of a selection that a person names.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "selection/trigger/settings.hpp"

namespace l3 {

/// The names of the lines by their ids.
[[nodiscard]] std::map<std::uint32_t, std::string> line_names(const selection_settings& selection);
/// The same of what a store holds; none if the text is no selection of this version.
[[nodiscard]] std::map<std::uint32_t, std::string> line_names(const std::string& selection);

} // namespace l3
