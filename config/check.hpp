// SPDX-License-Identifier: Apache-2.0
// What settings must satisfy together, beyond the range of each.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "daemon/settings.hpp"

namespace l3 {

struct conflict {
  std::vector<std::string_view> paths; ///< of the keys that do not go together
  std::string text;
};

[[nodiscard]] std::vector<conflict> conflicts_in(const daemon_settings& s);

} // namespace l3
