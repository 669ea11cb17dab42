// SPDX-License-Identifier: Apache-2.0
// The message about a wrong command line: one sentence with the mistake, the option that was
// probably meant, and where the help is.
#pragma once

#include <string>

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

} // namespace l3
