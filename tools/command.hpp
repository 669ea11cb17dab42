// SPDX-License-Identifier: Apache-2.0
// The commands of `koto-l3` and `koto-l3-bench`: each is a name and a function that adds the
// command and its options to the program. The exit code is 0 only when the command succeeded;
// tools/README.md lists the others.
#pragma once

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

namespace l3 {

inline constexpr int exit_failure = 1;
inline constexpr int exit_usage = 2;
inline constexpr int exit_missing_resource = 69;
inline constexpr int exit_bad_configuration = 78;

/// Writes to standard error. It goes on if the text cannot be written: a full disk behind a log
/// ends no program.
template <class... Values>
void print_error(fmt::format_string<Values...> text, Values&&... values) {
  std::fputs(fmt::format(text, std::forward<Values>(values)...).c_str(), stderr);
}

/// Thrown by a command: its program prints `koto-l3 NAME: text` and exits with the code.
struct command_error : std::runtime_error {
  command_error(const std::string& text, int exit_code = exit_failure)
      : std::runtime_error(text), code(exit_code) {}
  int code;
};

/// Parses an option's text; a text that `parse` refuses is a usage error that names the option.
template <class Parse>
auto from_option(const char* name, const std::string& text, const Parse& parse) {
  try {
    return parse(text);
  } catch (const std::invalid_argument& e) {
    throw command_error(std::string(name) + ": " + e.what(), exit_usage);
  }
}

/// Opens a file, a folder, a port; if `open` fails, a resource is missing.
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

/// Whether a file exists and may be read.
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

/// Runs once the command line is parsed; returns the exit code.
using command_body = std::function<int()>;

/// Adds one command with its options to the program; parsing it sets `run`.
using command_adder = void(CLI::App& program, command_body& run);

struct command {
  std::string_view name;
  command_adder* add;
};

/// Parses the command line of a program, adds only the wanted command to it, and runs that. Returns
/// the exit code. `footer` ends the text of --help.
[[nodiscard]] int run_program(const std::string& name, const std::string& what,
                              std::span<const command> commands, int argc, const char* const* argv,
                              std::string (*footer)() = nullptr);

} // namespace l3
