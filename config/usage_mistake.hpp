// SPDX-License-Identifier: Apache-2.0
// What a program says of a command line that it cannot follow: one sentence that names the mistake,
// the option that was probably meant, and where the help is.
#pragma once

#include <string>

namespace CLI {
class App;
class Error;
} // namespace CLI

namespace l3 {

/// For CLI::App::failure_message().
[[nodiscard]] std::string usage_mistake(const CLI::App* program, const CLI::Error& error);

/// For CLI::Option::check(). An empty name is that of a variable of the shell that is not set, and
/// no wish to go without the file: a receiver would take daemons without keys.
[[nodiscard]] inline std::string refuse_no_name(const std::string& name) {
  return name.empty() ? "the name is empty" : "";
}

} // namespace l3
