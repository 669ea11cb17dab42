// SPDX-License-Identifier: Apache-2.0
// What a peer says, for a log or a terminal.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace l3 {

/// One line: cut, and without control characters, which a terminal would obey.
[[nodiscard]] inline std::string peer_text(std::string_view text) {
  constexpr std::size_t longest = 400; // that is worth reading
  std::string line(text.substr(0, longest));
  std::ranges::replace_if(
      line, [](unsigned char c) { return c < ' ' || c == 0x7f; }, '?');
  return line;
}

} // namespace l3
