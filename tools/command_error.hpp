// SPDX-License-Identifier: Apache-2.0
// How a command fails: an exception with a text and an exit code, thrown by the command or by what
// it is made of. tools/README.md lists the exit codes.
#pragma once

#include <cerrno>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

#include <unistd.h>

#include "config/toml/complaints.hpp"
#include "selection/trigger/built_in.hpp"
#include "transport/system/reason_of.hpp"

namespace l3 {

inline constexpr int exit_failure = 1;
inline constexpr int exit_usage = 2;
inline constexpr int exit_missing_resource = 69;
inline constexpr int exit_bad_configuration = 78;

/// Thrown by a command: its program prints `koto-l3 NAME: text` and exits with the code.
struct command_error : std::runtime_error {
  command_error(const std::string& text, int exit_code = exit_failure)
      : std::runtime_error(text), code(exit_code) {}
  [[nodiscard]] static command_error of_lines(const std::string& text, int exit_code) {
    command_error e(text, exit_code);
    e.in_lines = true;
    return e;
  }
  /// For the same reason.
  command_error(const std::runtime_error& e, int exit_code)
      : std::runtime_error(e.what()), code(exit_code),
        in_lines(dynamic_cast<const bad_file*>(&e) != nullptr) {}
  int code;
  /// The text has a line for each mistake in a file, or the last lines of a log; any other is one
  /// line.
  bool in_lines = false;
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
    throw command_error(reason_of(e), exit_missing_resource);
  }
}

/// Whether a file exists and may be read; `hint` stands at the end of what is said if not.
inline void check_readable(const std::string& file, const std::string& hint = {}) {
  int error = ::access(file.c_str(), R_OK) == 0 ? 0 : errno;
  if (error == 0 && std::filesystem::is_directory(file)) error = EISDIR;
  if (error != 0)
    throw command_error("cannot read " + file + ": " + std::generic_category().message(error) +
                            hint,
                        exit_missing_resource);
}

/// The same of a menu or a detector, which may be the one that is built in.
inline void check_built_in_or_readable(const std::string& file) {
  if (file != built_in) check_readable(file, built_in_hint(file));
}

} // namespace l3
