// SPDX-License-Identifier: Apache-2.0
// The name under which a file is written until it is whole: NAME.new, which becomes NAME at the
// end. Whatever ends the program before, what stood under NAME is left alone. Where NAME is a link,
// what it leads to is replaced; a pipe or a device is written as it is.
#pragma once

#include <filesystem>

namespace l3 {

class pending_file {
public:
  /// Throws std::runtime_error if something that is no file stands under NAME.new.
  explicit pending_file(const std::filesystem::path& name);
  /// Takes away what was not finished.
  ~pending_file();
  pending_file(const pending_file&) = delete;
  pending_file& operator=(const pending_file&) = delete;

  /// Where to write.
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// All is written and closed: the file gets its name. Throws std::filesystem::filesystem_error.
  void finish();

private:
  std::filesystem::path final_;
  std::filesystem::path path_;
};

} // namespace l3
