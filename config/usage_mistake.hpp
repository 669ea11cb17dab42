// SPDX-License-Identifier: Apache-2.0
// The message about a wrong command line: one sentence with the mistake, the option that was
// probably meant, and where the help is.
#pragma once

#include <string>
#include <string_view>

namespace CLI {
class App;
class Error;
} // namespace CLI

namespace l3 {

/// For CLI::App::failure_message().
[[nodiscard]] std::string usage_mistake(const CLI::App* program, const CLI::Error& error);

/// For CLI::Option::check(). An empty name comes from an unset shell variable and must not mean "no
/// file": a receiver would then accept daemons without keys.
[[nodiscard]] inline std::string refuse_no_name(const std::string& name) {
  return name.empty() ? "the name is empty" : "";
}

// Names of files and folders as people write them. A shell replaces "~" at the start of a word and
// "$NAME", but not "~" after "--out=", nothing in single quotes, and nothing in a settings file. A
// program would then create a folder that is called "~".

/// The rest of a sentence that begins with the name; empty if the name is acceptable.
[[nodiscard]] constexpr std::string_view wrong_with_path(std::string_view name) {
  constexpr std::string_view begin =
      "_{ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"; // first characters of a variable
  if (name.starts_with('~'))
    return "begins with \"~\", which only a shell expands: write the full path, from \"/\" on";
  for (std::size_t at = name.find('$'); at != name.npos; at = name.find('$', at + 1))
    if (at + 1 < name.size() && begin.find(name[at + 1]) != begin.npos)
      return "has a variable like \"$HOME\", which only a shell expands: write the full path, from "
             "\"/\" on";
  return {};
}

} // namespace l3
