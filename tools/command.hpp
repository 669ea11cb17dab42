// SPDX-License-Identifier: Apache-2.0
// The commands of `koto-l3` and `koto-l3-bench`: each is a name and a function that adds the
// command and its options to the program.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "tools/command_error.hpp"
#include "tools/command_line.hpp"

namespace l3 {

/// Runs after the command line is parsed; returns the exit code.
using command_body = std::function<int()>;

/// Adds one command with its options to the program; parsing it sets `run`.
using command_adder = void(command_line program, command_body& run);

struct command {
  std::string_view name;
  command_adder* add;
  const char* group = "Commands"; ///< its heading in --help
};

/// Parses a program's command line, creates only the wanted command, runs it, and returns the exit
/// code.
[[nodiscard]] int run_program(const std::string& name, const std::string& what,
                              std::span<const command> commands, int argc, const char* const* argv);

} // namespace l3
