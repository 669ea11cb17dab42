// SPDX-License-Identifier: Apache-2.0
// A file that is written as NAME.new and becomes NAME when it is complete; until then an old NAME
// stays. If NAME is a link, its target is replaced, because a link such as /dev/stdout belongs to
// the system; a pipe or a device is written directly. Call check_replaced() first if a person gave
// the name.
#pragma once

#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include <stdlib.h>

#include "tools/command_error.hpp"
#include "transport/system/file_descriptor.hpp"

namespace l3 {

/// Protects data from a mistyped name: throws command_error if a non-empty file of this name
/// exists, unless `is_own` says from its first 64 bytes that it may be replaced. `writer`: the
/// option or the command.
void check_replaced(const std::string& writer, const std::filesystem::path& name,
                    bool (*is_own)(std::string_view begin));

class pending_file {
public:
  /// Throws std::filesystem::filesystem_error for a cycle of links.
  explicit pending_file(const std::filesystem::path& name);
  /// Removes an unfinished file.
  ~pending_file();
  pending_file(const pending_file&) = delete;
  pending_file& operator=(const pending_file&) = delete;

  /// The path to write to.
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// Gives the file its name after everything is written and closed. Throws
  /// std::filesystem::filesystem_error.
  void finish();

private:
  std::filesystem::path final_;
  std::filesystem::path path_;
};

/// Writes a pending file from start to end. Throws std::system_error with the file's name.
class whole_file {
public:
  explicit whole_file(const std::filesystem::path& name);
  void write(std::span<const std::byte> bytes);
  void flush_to_disk();
  void finish() { name_.finish(); }

private:
  pending_file name_;
  file_descriptor file_;
};

// Creates a temporary folder for a command, in TMPDIR.

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
