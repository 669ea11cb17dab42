// SPDX-License-Identifier: Apache-2.0
#include "tools/verify/line_names.hpp"

#include <stdexcept>

#include "selection/trigger/line_id.hpp"
#include "selection/trigger/parse_selection.hpp"

namespace l3 {

std::map<std::uint32_t, std::string> line_names(const selection_settings& selection) {
  std::map<std::uint32_t, std::string> names;
  for (const line_settings& line : selection.lines)
    names.emplace(line_id(line.name.value), line.name.value);
  return names;
}

std::map<std::uint32_t, std::string> line_names(const std::string& selection) {
  try {
    return line_names(parse_selection(selection, "the settings"));
  } catch (const std::runtime_error&) {
    return {};
  }
}

} // namespace l3
