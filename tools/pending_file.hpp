// SPDX-License-Identifier: Apache-2.0
// A file that is written as NAME.new and becomes NAME when it is whole: if the program ends before,
// an old NAME stays as it was. If NAME is a link, its target is replaced; a pipe or a device is
// written directly.
#pragma once

#include <filesystem>

namespace l3 {

class pending_file {
public:
  /// Throws std::runtime_error if NAME.new exists and is not a regular file.
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
