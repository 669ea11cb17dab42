// SPDX-License-Identifier: Apache-2.0
// A file that is written as NAME.new and becomes NAME when it is whole: if the program ends before,
// an old NAME stays as it was. If NAME is a link, its target is replaced, for a link such as
// /dev/stdout is the system's; a pipe or a device is written directly. check_replaced() comes first
// where a person gave the name.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace l3 {

/// A mistyped name must cost no data: throws command_error if a file of this name is there already,
/// is not empty, and `is_own` does not know it, by its first 64 bytes, for one that the writer may
/// replace. `writer` is the option or the command.
void check_replaced(const std::string& writer, const std::filesystem::path& name,
                    bool (*is_own)(std::string_view begin));

class pending_file {
public:
  /// Throws std::filesystem::filesystem_error for a ring of links.
  explicit pending_file(const std::filesystem::path& name);
  /// Removes an unfinished file.
  ~pending_file();
  pending_file(const pending_file&) = delete;
  pending_file& operator=(const pending_file&) = delete;

  /// Where to write.
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// Gives the file its name; call it when all is written and closed. Throws
  /// std::filesystem::filesystem_error.
  void finish();

private:
  std::filesystem::path final_;
  std::filesystem::path path_;
};

} // namespace l3
