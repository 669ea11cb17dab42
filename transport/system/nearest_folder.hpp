// SPDX-License-Identifier: Apache-2.0
// Where a folder that a program will make is going to lie, and what is in its way: its disk and its
// permissions are those of the nearest folder above it. Nothing is made.
#pragma once

#include <filesystem>
#include <string>
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

/// Why there cannot be a folder of this name, whichever user makes it: something else has the name,
/// or that of a folder above it, or it is longer than the system allows. Empty if there can.
[[nodiscard]] inline std::string why_no_folder(std::filesystem::path folder) {
  std::error_code error;
  folder = std::filesystem::absolute(folder, error);
  while (folder.has_relative_path() && !std::filesystem::exists(folder, error)) {
    if (error == std::errc::filename_too_long) return folder.string() + ": " + error.message();
    if (std::filesystem::is_symlink(std::filesystem::symlink_status(folder, error)))
      return folder.string() + " is a link that leads nowhere";
    folder = folder.parent_path();
  }
  return std::filesystem::is_directory(folder, error) || error ? ""
                                                               : folder.string() + " is no folder";
}

/// Why nothing of this name can be made, as why_no_folder(), where its folder has to be there
/// before.
[[nodiscard]] inline std::string why_no_folder_of(const std::filesystem::path& name) {
  const std::filesystem::path folder = "." / name.parent_path();
  std::error_code error;
  if (std::string why = why_no_folder(folder); !why.empty()) return why;
  const bool missing = !std::filesystem::exists(folder, error) && !error;
  return missing ? "there is no folder " + name.parent_path().string() : "";
}

/// Whether a folder is missing now, and the service manager makes it for a service that starts, as
/// /run/koto-l3 (RuntimeDirectory= and its like). It makes none within it.
[[nodiscard]] inline bool comes_with_the_service(const std::filesystem::path& folder) {
  std::error_code error;
  if (!why_no_folder(folder).empty() || std::filesystem::exists(folder, error)) return false;
  const std::filesystem::path in =
      std::filesystem::canonical(std::filesystem::absolute(folder, error).parent_path(), error);
  return in == "/run" || in == "/var/lib" || in == "/var/log" || in == "/var/cache";
}

} // namespace l3
