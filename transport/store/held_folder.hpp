// SPDX-License-Identifier: Apache-2.0
// A folder that a program has locked, so that no other daemon or receiver uses it, and accesses by
// its handle. It belongs to the service's user; changes by anybody else are an operator's error.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include "transport/system/file_descriptor.hpp"
#include "transport/system/known_folder.hpp"

namespace l3 {

class held_folder {
public:
  /// Throws std::runtime_error with a text that says what is wrong. `program`: the name of a
  /// program that may have locked the folder.
  held_folder(std::filesystem::path path, std::string_view program);

  [[nodiscard]] int get() const { return folder_.get(); }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  /// Why the path no longer leads to this folder; empty if it does.
  [[nodiscard]] std::string why_gone() const { return known_.why_gone(); }

  /// Opens an existing file. On failure, `error` has the reason.
  [[nodiscard]] file_descriptor open(const std::string& name, int flags,
                                     std::error_code& error) const;
  /// Creates a file for reading and appending.
  [[nodiscard]] file_descriptor create(const std::string& name, std::error_code& error) const;
  /// 0, or −1 and errno.
  int remove(const std::string& name) const;

private:
  std::filesystem::path path_;
  known_folder known_;
  file_descriptor folder_;
};

} // namespace l3
