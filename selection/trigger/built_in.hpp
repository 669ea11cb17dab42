// SPDX-License-Identifier: Apache-2.0
// The word that stands in the place of a file's name for the menu, and the detector, that are
// compiled into the programs.
#pragma once

#include <string>
#include <string_view>

namespace l3 {

inline constexpr const char* built_in = "built-in";

/// For the end of a sentence about a file of this name that cannot be read: the word, if the name
/// has its letters.
[[nodiscard]] inline std::string built_in_hint(std::string_view name) {
  constexpr char small = 0x20; // the bit by which a small letter differs from a capital
  std::string letters;
  for (const char c : name.substr(name.rfind('/') + 1))
    if (const char letter = static_cast<char>(c | small); letter >= 'a' && letter <= 'z')
      letters += letter;
  return letters == "builtin" ? R"(; did you mean "built-in"?)" : "";
}

} // namespace l3
