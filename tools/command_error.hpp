// SPDX-License-Identifier: Apache-2.0
// The failure of a command: an exception with a text and an exit code, which the command or its
// parts throw. tools/README.md lists the exit codes.
#pragma once

#include <cerrno>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

#include <unistd.h>

#include "config/toml/complaints.hpp"
#include "selection/trigger/selection_files.hpp"
#include "transport/system/reason_of.hpp"

namespace l3 {

inline constexpr int exit_failure = 1;
inline constexpr int exit_usage = 2;
inline constexpr int exit_missing_resource = 69;
inline constexpr int exit_bad_configuration = 78;

/// Thrown by a command: the program prints `koto-l3 NAME: text` and exits with the code.
struct command_error : std::runtime_error {
  command_error(const std::string& text, int exit_code = exit_failure)
      : std::runtime_error(text), code(exit_code) {}
  [[nodiscard]] static command_error of_lines(const std::string& text, int exit_code) {
    command_error e(text, exit_code);
    e.in_lines = true;
    return e;
  }
  /// Likewise, from an exception.
  command_error(const std::runtime_error& e, int exit_code)
      : std::runtime_error(e.what()), code(exit_code),
        in_lines(dynamic_cast<const bad_file*>(&e) != nullptr) {}
  int code;
  /// The text has one line per mistake in a file, or the last lines of a log. Other texts have one
  /// line.
  bool in_lines = false;
};

/// Parses an option's text; if `parse` refuses it, that is a usage error with the option's name.
template <class Parse>
auto from_option(const char* name, const std::string& text, const Parse& parse) {
  try {
    return parse(text);
  } catch (const std::invalid_argument& e) {
    throw command_error(std::string(name) + ": " + e.what(), exit_usage);
  }
}

/// Opens a file, folder or port; if `open` fails, a resource is missing.
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

/// Throws unless the file exists and is readable; `hint` is the end of the message.
inline void check_readable(const std::string& file, const std::string& hint = {}) {
  const int error = ::access(file.c_str(), R_OK) == 0 ? 0 : errno;
  if (error != 0)
    throw command_error("cannot read " + file + ": " + std::generic_category().message(error) +
                            hint,
                        exit_missing_resource);
  if (std::filesystem::is_directory(file))
    throw command_error(file + " is a folder, not a file" + hint, exit_missing_resource);
}

/// Likewise for a menu or a detector, which may be the built-in one.
inline void check_built_in_or_readable(const std::string& file) {
  if (file != built_in) check_readable(file, built_in_hint(file));
}

} // namespace l3
