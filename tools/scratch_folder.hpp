// SPDX-License-Identifier: Apache-2.0
// Creates a temporary folder for a command, in TMPDIR.
#pragma once

#include <cerrno>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include <stdlib.h>

#include "tools/command_error.hpp"

namespace l3 {

/// The folder's name begins with `word`. Throws command_error if it cannot be created.
[[nodiscard]] inline std::filesystem::path new_scratch_folder(std::string_view word) {
  std::error_code error;
  const std::filesystem::path where = std::filesystem::temp_directory_path(error);
  if (error)
    throw command_error("TMPDIR, or /tmp if it is not set, is not a folder for temporary files: " +
                            error.message(),
                        exit_missing_resource);
  std::string name = (where / (std::string(word) + "-XXXXXX")).string();
  if (::mkdtemp(name.data()) == nullptr)
    throw command_error("cannot make a folder in " + where.string() +
                            " (TMPDIR): " + std::generic_category().message(errno),
                        exit_missing_resource);
  return name;
}

} // namespace l3
