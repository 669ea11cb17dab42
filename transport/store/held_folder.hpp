// SPDX-License-Identifier: Apache-2.0
// A folder that a program takes for itself: locked, so that no other daemon or receiver uses it,
// and used by its handle. It belongs to the service's user: other hands in it are an operator's
// error.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include "transport/system/file_descriptor.hpp"

namespace l3 {

/// A new name in this folder then survives the death of the machine.
[[nodiscard]] std::error_code flush_folder(const std::filesystem::path& folder);

class held_folder {
public:
  /// Throws std::runtime_error that says what is wrong; `program` is what another one is called
  /// that may have the folder in use.
  held_folder(std::filesystem::path path, std::string_view program);

  [[nodiscard]] int get() const { return folder_.get(); }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  /// An existing file. Without one, `error` says why.
  [[nodiscard]] file_descriptor open(const std::string& name, int flags,
                                     std::error_code& error) const;
  /// A new file, to read and to append to.
  [[nodiscard]] file_descriptor create(const std::string& name, std::error_code& error) const;
  /// 0, or −1 and errno.
  int remove(const std::string& name) const;

private:
  std::filesystem::path path_;
  file_descriptor folder_;
};

} // namespace l3
