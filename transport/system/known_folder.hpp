// SPDX-License-Identifier: Apache-2.0
// A program's own folder. A missing name is not a removed one: its disk may not be mounted, and a
// folder made in the bare place of a disk would swallow data. So only a start from the command line
// makes a folder, and a running program ends when the name leads to another place.
#pragma once

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "transport/system/file_descriptor.hpp"
#include "transport/system/file_io.hpp"
#include "transport/system/nearest_folder.hpp"

namespace l3 {

/// Whether a file system that lacks an optional operation gives this error: no fault of the disk.
[[nodiscard]] inline bool is_unsupported(const std::error_code& error) {
  return error == std::errc::invalid_argument || error == std::errc::function_not_supported ||
         error == std::errc::not_supported || error == std::errc::operation_not_supported;
}

/// Makes new names in a folder survive a power cut, if its file system can flush folders.
[[nodiscard]] inline std::error_code flush_folder(int folder) {
  const std::error_code error = ::fsync(folder) == 0 ? std::error_code() : last_error();
  return is_unsupported(error) ? std::error_code() : error;
}
[[nodiscard]] inline std::error_code flush_folder(const std::filesystem::path& folder) {
  const auto path = folder.empty() ? std::filesystem::path(".") : folder;
  const file_descriptor open(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return open ? flush_folder(open.get()) : last_error();
}

/// Whether systemd runs this process as a service of Type=notify. Call it before other threads
/// start.
[[nodiscard]] inline bool is_a_service() {
  const auto is_set = [](const char* name) {
    const char* const value = std::getenv(name); // NOLINT(concurrency-mt-unsafe)
    return value != nullptr && *value != '\0';
  };
  return is_set("INVOCATION_ID") && is_set("NOTIFY_SOCKET");
}

/// Why the folder lies in what may be the bare place of a disk: an empty folder where nothing is
/// mounted. Empty if it does not, or if the folder exists.
[[nodiscard]] inline std::string why_bare(const std::filesystem::path& folder) {
  const std::filesystem::path above = folder.parent_path();
  std::error_code error;
  if (above.empty() || std::filesystem::is_directory(folder, error)) return {};
  if (is_mounted(above) || !std::filesystem::is_empty(above, error)) return {};
  return above.string() +
         " is empty, like the place of a disk that is not mounted: mount the disk, or make the "
         "folder with mkdir";
}

/// Makes the last folder of the path, unless a service runs. Returns why there is no folder; empty
/// if there is one.
[[nodiscard]] inline std::string why_not_made(std::filesystem::path folder, bool by_service) {
  if (!folder.has_filename()) folder = folder.parent_path();
  std::error_code error;
  if (std::string why = why_no_last_folder(folder); !why.empty()) return why;
  if (std::filesystem::is_directory(folder, error)) return {};
  if (by_service)
    return "it does not exist; mount its disk, or create it with "
           "`install -d -m 750 -o USER " +
           folder.string() + "`";
  constexpr mode_t mode = 0750;
  if (::mkdir(folder.c_str(), mode) != 0 && errno != EEXIST) return last_error().message();
  const std::error_code flushed = flush_folder(folder.parent_path());
  return flushed ? flushed.message() : "";
}

class known_folder {
public:
  explicit known_folder(const std::filesystem::path& path)
      : path_(std::filesystem::absolute(path)) {
    (void)::stat(path_.c_str(), &first_);
  }

  /// Why the name no longer leads to the folder; empty if it does, or if the system does not tell.
  [[nodiscard]] std::string why_gone() const {
    struct stat now {};
    if (ask_again([&] { return ::stat(path_.c_str(), &now); }) != 0)
      return errno == ENOENT || errno == ENOTDIR
                 ? path_.string() + ": the folder has disappeared: it was removed, or its disk was "
                                    "unmounted"
                 : "";
    if (now.st_dev != first_.st_dev)
      return path_.string() + ": the folder is on another disk than before: one was mounted or "
                              "unmounted there";
    return now.st_ino == first_.st_ino ? "" : path_.string() + ": the folder was replaced";
  }

private:
  std::filesystem::path path_;
  struct stat first_ {};
};

} // namespace l3
