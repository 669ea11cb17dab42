// SPDX-License-Identifier: Apache-2.0
// Where a folder that a program will make is going to lie: its disk and its permissions are those
// of the nearest folder above it.
#pragma once

#include <filesystem>
#include <system_error>

namespace l3 {

/// The folder, or the nearest one above it that is there.
[[nodiscard]] inline std::filesystem::path nearest_folder(std::filesystem::path folder) {
  std::error_code error;
  folder = std::filesystem::absolute(folder, error);
  while (folder.has_relative_path() && !std::filesystem::exists(folder, error))
    folder = folder.parent_path();
  return folder;
}

} // namespace l3
