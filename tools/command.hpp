// SPDX-License-Identifier: Apache-2.0
// What a subcommand of `koto-l3` is: a function that adds its options to the program and what it
// does to `run`. The exit code is 0 only when what was asked for holds; what others there are,
// tools/README.md says.
#pragma once

#include <cerrno>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <system_error>

#include <CLI/CLI.hpp>
#include <unistd.h>

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

/// What `parse` makes of an option's text; what it refuses is a usage error that names the option.
template <class Parse>
auto from_option(const char* name, const std::string& text, const Parse& parse) {
  try {
    return parse(text);
  } catch (const std::invalid_argument& e) {
    throw command_error(std::string(name) + ": " + e.what(), exit_usage);
  }
}

/// What `open` opens: a file, a folder, a port. If it cannot, a resource is missing.
template <class Open>
auto opened(const Open& open) {
  try {
    return open();
  } catch (const command_error&) {
    throw;
  } catch (const std::runtime_error& e) {
    throw command_error(e.what(), exit_missing_resource);
  }
}

/// Whether a file is there and may be read.
inline void check_readable(const std::string& file) {
  int error = ::access(file.c_str(), R_OK) == 0 ? 0 : errno;
  if (error == 0 && std::filesystem::is_directory(file)) error = EISDIR;
  if (error != 0)
    throw command_error("cannot read " + file + ": " + std::generic_category().message(error),
                        exit_missing_resource);
}

/// For an option without a sign, whose type alone would let −1 be the largest number.
inline std::string refuse_sign(const std::string& text) {
  return text.starts_with('-') ? text + " is below 0" : "";
}

/// What runs once the command line is parsed; returns the exit code.
using command_body = std::function<int()>;

// Each in the source of its name.
void add_simulate(CLI::App& program, command_body& run);
void add_replay(CLI::App& program, command_body& run);
void add_keys(CLI::App& program, command_body& run);
void add_receive(CLI::App& program, command_body& run);
void add_verify(CLI::App& program, command_body& run);
void add_extract(CLI::App& program, command_body& run);
void add_pack(CLI::App& program, command_body& run);
void add_unpack(CLI::App& program, command_body& run);
void add_demo(CLI::App& program, command_body& run);
void add_select(CLI::App& program, command_body& run);
void add_evaluate(CLI::App& program, command_body& run);
void add_bench(CLI::App& program, command_body& run);

} // namespace l3
