// SPDX-License-Identifier: Apache-2.0
// Names of files and folders as people write them. A shell replaces "~" at the begin of a word and
// "$NAME", but not "~" behind "--out=", nothing in single quotes, and nothing in a settings file. A
// program would then create a folder that is called "~".
#pragma once

#include <string_view>

namespace l3 {

/// The rest of a sentence that begins with the name; empty if the name is acceptable.
[[nodiscard]] constexpr std::string_view wrong_with_path(std::string_view name) {
  constexpr std::string_view begin =
      "_{ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"; // first characters of a variable
  if (name.starts_with('~'))
    return "is taken as it stands, and only a shell knows the home folder \"~\": write the whole "
           "path, from \"/\" on";
  for (std::size_t at = name.find('$'); at != name.npos; at = name.find('$', at + 1))
    if (at + 1 < name.size() && begin.find(name[at + 1]) != begin.npos)
      return "is taken as it stands, and only a shell knows variables like \"$HOME\": write the "
             "whole path, from \"/\" on";
  return {};
}

} // namespace l3
