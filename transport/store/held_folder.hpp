// SPDX-License-Identifier: Apache-2.0
// A folder that a program takes for itself: locked, and used by its handle. The lock keeps other
// daemons and receivers out, but not a person or a cleaning job: those may still remove, move, cut
// or replace the folder and its files. What is safe is what the name still leads to, so the folder
// says whether its name, and the name of a file in it, lead to what they led to. It opens regular
// files only: never a link, a pipe or a device.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include <sys/types.h>

#include "transport/system/file_descriptor.hpp"

namespace l3 {

/// Why a name is of no use.
enum class name_fault : std::uint8_t {
  not_a_file = 1, ///< a link, a pipe, a device, a folder
  folder_gone,    ///< nothing has the folder's name
  folder_taken,   ///< something else has it
  file_gone,
  file_taken,
  file_changed, ///< cut, or written by another program
  file_not_cut, ///< the disk did not let this program cut it: behind its last block is more
};
[[nodiscard]] std::error_code make_error_code(name_fault f);
/// False: an error of the system, which says nothing of what the name leads to.
[[nodiscard]] bool is_name_fault(const std::error_code& error);

/// Which file it is, whatever its name.
struct file_identity {
  dev_t device = 0;
  ino_t inode = 0;

  friend bool operator==(const file_identity&, const file_identity&) = default;
};

/// What a name leads to.
struct file_look {
  /// No file was written then.
  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::min();

  file_identity who;
  std::uint64_t bytes = 0;
  std::int64_t modified = 0; ///< nanoseconds since 1970
  bool is_file = false;      ///< a regular one
  /// Its bytes or what the system notes of it, likewise: no program can set it back, as it can set
  /// back the time above.
  std::int64_t changed = 0;

  /// `before` is what it was, but for a new name.
  [[nodiscard]] bool is_but_renamed(file_look before) const {
    before.changed = changed;
    return *this == before;
  }

  /// Of a file that is not open: the same one, which nothing was written to. Another file may get
  /// the number of one that was removed.
  friend bool operator==(const file_look&, const file_look&) = default;
};
[[nodiscard]] std::optional<file_look> look_at(int file);
/// What the name itself is: no link is followed.
[[nodiscard]] std::optional<file_look> look_at(const std::filesystem::path& name);

/// A new name in this folder then survives the death of the machine.
[[nodiscard]] std::error_code flush_folder(const std::filesystem::path& folder);

class held_folder {
public:
  /// Throws std::runtime_error that says what is wrong; `program` is what another one is called
  /// that may have the folder in use.
  held_folder(std::filesystem::path path, std::string_view program);

  [[nodiscard]] int get() const { return folder_.get(); }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  /// No error: the folder's name leads to this folder.
  [[nodiscard]] std::error_code check() const;
  /// When nothing has the folder's name: the folder, made again, with what is in this one moved
  /// into it, wherever this one is. A folder that was moved away is thus whole where it belongs; of
  /// one that was removed, only open files are left.
  [[nodiscard]] held_folder made_anew(std::error_code& error) const;

  /// Nothing, and no error: there is no such name. Nothing, and an error: it is not known.
  [[nodiscard]] std::optional<file_look> look(const std::string& name,
                                              std::error_code& error) const;
  /// An existing regular file. Without one, `error` says why.
  [[nodiscard]] file_descriptor open(const std::string& name, int flags,
                                     std::error_code& error) const;
  /// A new file, to read and to append to.
  [[nodiscard]] file_descriptor create(const std::string& name, std::error_code& error) const;
  /// 0, or −1 and errno. What a link leads to stays.
  int remove(const std::string& name) const;

private:
  held_folder() = default;
  [[nodiscard]] std::error_code take();

  std::filesystem::path path_;
  std::string program_;
  file_descriptor folder_;
  file_identity who_;
};

} // namespace l3

template <>
struct std::is_error_code_enum<l3::name_fault> : std::true_type {};
