// SPDX-License-Identifier: Apache-2.0
// A file that is written as NAME.new and becomes NAME when it is whole: if the program ends before,
// an old NAME stays as it was. If NAME is a link, its target is made or replaced, for a link such
// as /dev/stdout is the system's; a pipe or a device is written directly. check_replaced() comes
// first where a person gave the name.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "transport/system/file_descriptor.hpp"

namespace l3 {

/// A mistyped name must cost no data: throws command_error if a file of this name is there already,
/// is not empty, and `is_own` does not know it, by its first 64 bytes, for one that the writer may
/// replace. `writer` is the option or the command.
void check_replaced(const std::string& writer, const std::filesystem::path& name,
                    bool (*is_own)(std::string_view begin));

/// Where a file of this name would be made: links of it are followed, also where they lead to
/// nothing. Throws std::filesystem::filesystem_error for a ring of links.
[[nodiscard]] std::filesystem::path end_of_links(std::filesystem::path path);

/// Opens NAME.new for writing, made if it is not there and not emptied if it is. It is this
/// program's until the descriptor is closed: a second program that wrote it, too, would leave a
/// mixture of both. Throws std::runtime_error if another has it, or if it is no regular file. No
/// descriptor: it cannot be opened, as errno says.
[[nodiscard]] file_descriptor hold_new_file(const std::filesystem::path& path);

class pending_file {
public:
  /// Throws std::runtime_error as hold_new_file() does.
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
  file_descriptor held_; ///< empty: written directly, or it cannot be opened
};

} // namespace l3
