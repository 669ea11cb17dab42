// SPDX-License-Identifier: Apache-2.0
// The word used instead of a file name for the menu, and the detector, that are compiled into the
// programs.
#pragma once

#include <string>
#include <string_view>

namespace l3 {

inline constexpr const char* built_in = "built-in";

/// For the end of a message about an unreadable file: suggests the word if the name has the same
/// letters.
[[nodiscard]] inline std::string built_in_hint(std::string_view name) {
  constexpr char small = 0x20; // the bit between small and capital letters
  std::string letters;
  for (const char c : name.substr(name.rfind('/') + 1))
    if (const char letter = static_cast<char>(c | small); letter >= 'a' && letter <= 'z')
      letters += letter;
  return letters == "builtin" ? R"(; did you mean "built-in"?)" : "";
}

} // namespace l3
