// SPDX-License-Identifier: Apache-2.0
// Where a folder would be created, and what prevents it: its disk and permissions are those of the
// nearest existing parent. Creates nothing that stays.
#pragma once

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace l3 {

/// The folder or its nearest existing parent.
[[nodiscard]] inline std::filesystem::path nearest_folder(std::filesystem::path folder) {
  std::error_code error;
  folder = std::filesystem::absolute(folder, error);
  while (folder.has_relative_path() && !std::filesystem::exists(folder, error))
    folder = folder.parent_path();
  return folder;
}

/// Why no user can create a folder of this name: it or a parent exists as something else, or the
/// name is too long. Empty if it can be created.
[[nodiscard]] inline std::string why_no_folder(std::filesystem::path folder) {
  std::error_code error;
  folder = std::filesystem::absolute(folder, error);
  while (folder.has_relative_path() && !std::filesystem::exists(folder, error)) {
    if (error == std::errc::filename_too_long) return folder.string() + ": " + error.message();
    if (std::filesystem::is_symlink(std::filesystem::symlink_status(folder, error)))
      return folder.string() + " is a broken link";
    folder = folder.parent_path();
  }
  return std::filesystem::is_directory(folder, error) || error
             ? ""
             : folder.string() + " is not a folder";
}

/// Whether another file system than its parent's is mounted at this place.
[[nodiscard]] inline bool is_mounted(const std::filesystem::path& place) {
  struct stat here {};
  struct stat parent {};
  return ::stat(place.c_str(), &here) == 0 && ::stat((place / "..").c_str(), &parent) == 0 &&
         here.st_dev != parent.st_dev;
}

/// Why a file system that /etc/fstab lists for this folder, or for one above it, is missing. A
/// program would write into its bare place.
[[nodiscard]] inline std::string why_not_mounted(const std::filesystem::path& folder) {
  std::error_code error;
  const auto whole =
      std::filesystem::weakly_canonical(std::filesystem::absolute(folder, error), error);
  std::ifstream lines("/etc/fstab");
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string disk, place, type, options;
    words >> disk >> place >> type >> options;
    const bool is_above = place.size() > 1 && (whole / "").native().starts_with(place + "/");
    if (disk.starts_with('#') || !is_above || options.find("bind") != options.npos) continue;
    if (!is_mounted(place))
      return place + " is not mounted, although /etc/fstab lists it: mount it";
  }
  return {};
}

/// Why no file of this name can be created, whose folder must already exist.
[[nodiscard]] inline std::string why_no_folder_of(const std::filesystem::path& name) {
  const std::filesystem::path folder = "." / name.parent_path();
  std::error_code error;
  if (std::string why = why_not_mounted(name); !why.empty()) return why;
  if (std::string why = why_no_folder(folder); !why.empty()) return why;
  const bool missing = !std::filesystem::exists(folder, error) && !error;
  return missing ? "there is no folder " + name.parent_path().string() : "";
}

/// Why no folder of this name can be there, or be made in the one that must exist.
[[nodiscard]] inline std::string why_no_last_folder(std::filesystem::path folder) {
  if (!folder.has_filename()) folder = folder.parent_path();
  std::string why = why_no_folder_of(folder);
  return why.empty() ? why_no_folder(folder) : why;
}

/// Why this user cannot write to the folder, or create it where it is missing: only a trial tells,
/// because some file systems, such as /proc, take no folder from anybody. It leaves nothing behind.
[[nodiscard]] inline std::string why_not_writable(const std::filesystem::path& folder) {
  if (std::string why = why_no_folder(folder); !why.empty()) return why;
  std::error_code error;
  const std::filesystem::path there = nearest_folder(folder);
  const auto why = [&](const char* what) {
    return what + there.string() + ": " + std::generic_category().message(errno);
  };
  if (std::filesystem::exists(folder, error))
    return ::faccessat(AT_FDCWD, there.c_str(), W_OK | X_OK, AT_EACCESS) == 0
               ? ""
               : why("this user cannot write to ");
  std::string trial = (there / "koto-l3-XXXXXX").string();
  if (::mkdtemp(trial.data()) == nullptr) return why("this user cannot make a folder in ");
  ::rmdir(trial.c_str());
  return {};
}

/// Whether a folder is missing now but the service manager creates it for a service, such as
/// /run/koto-l3 (RuntimeDirectory= and similar). It creates no subfolders.
[[nodiscard]] inline bool comes_with_the_service(const std::filesystem::path& folder) {
  std::error_code error;
  if (!why_no_folder(folder).empty() || std::filesystem::exists(folder, error)) return false;
  const std::filesystem::path in =
      std::filesystem::canonical(std::filesystem::absolute(folder, error).parent_path(), error);
  return in == "/run" || in == "/var/lib" || in == "/var/log" || in == "/var/cache";
}

} // namespace l3
