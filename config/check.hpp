// SPDX-License-Identifier: Apache-2.0
// Rules between several settings, beyond the range of each.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/settings.hpp"

namespace l3 {

struct conflict {
  std::vector<std::string_view> paths; ///< the keys that contradict each other
  std::string text;
};

[[nodiscard]] std::vector<conflict> conflicts_in(const daemon_settings& s);

} // namespace l3
