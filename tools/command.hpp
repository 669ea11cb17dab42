// SPDX-License-Identifier: Apache-2.0
// What a subcommand of `koto-l3` is: a function that adds its options to the program and what it
// does to `run`. The exit code is 0 only when what was asked for holds; usage errors are 2 (main),
// failures 1, a missing resource 69.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>

#include <CLI/CLI.hpp>

namespace l3 {

inline constexpr int exit_failure = 1;
inline constexpr int exit_usage = 2;
inline constexpr int exit_missing_resource = 69;
inline constexpr int exit_bad_configuration = 78;

/// Thrown by a subcommand: main prints `koto-l3 NAME: text` and exits with the code.
struct command_error : std::runtime_error {
  command_error(const std::string& text, int exit_code = exit_failure)
      : std::runtime_error(text), code(exit_code) {}
  int code;
};

/// What runs once the command line is parsed; returns the exit code.
using command_body = std::function<int()>;

// Each in the source of its name.
void add_simulate(CLI::App& program, command_body& run);
void add_replay(CLI::App& program, command_body& run);
void add_receive(CLI::App& program, command_body& run);
void add_verify(CLI::App& program, command_body& run);
void add_extract(CLI::App& program, command_body& run);
void add_pack(CLI::App& program, command_body& run);
void add_unpack(CLI::App& program, command_body& run);
void add_demo(CLI::App& program, command_body& run);
void add_bench(CLI::App& program, command_body& run);

} // namespace l3
