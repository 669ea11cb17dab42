// SPDX-License-Identifier: Apache-2.0
// The files of output blocks of a receiver's store and a daemon's spool: their names in a folder,
// and the one being written (docs/formats.md, sections 9 and 11). A block_file contains its head
// and whole blocks; a failed append() is cut off again. A block is safe only after check(), which
// verifies that the file still has a name. Readers use store_file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include "transport/format/block.hpp"
#include "transport/store/held_folder.hpp"
#include "transport/system/file_descriptor.hpp"

namespace l3 {

/// They differ in their file names and in the meaning of a wrong head.
enum class store_kind : std::uint8_t { store, spool };
/// The kind of a folder by its files: a spool if all are a spool's, even without segments; else a
/// store.
[[nodiscard]] store_kind kind_of(const std::filesystem::path& folder);

/// The run and node of a complete store file, as in its name.
struct file_owner {
  std::uint32_t run = 0;
  std::uint32_t node = 0;

  friend bool operator==(const file_owner&, const file_owner&) = default;
};

/// Highest number of a file of a store or spool, which count from 1; an event index has 32 bits.
inline constexpr std::uint64_t highest_file_number = 0xFFFF'FFFF;

/// The head of a new file with this number.
[[nodiscard]] store_file_header head_of_file(std::uint64_t number,
                                             store_kind kind = store_kind::store);

/// The file's name while it is written. Segments of a spool keep that name.
[[nodiscard]] std::filesystem::path store_file_path(const std::filesystem::path& folder,
                                                    std::uint64_t number,
                                                    store_kind kind = store_kind::store);
[[nodiscard]] std::string store_file_name(std::uint64_t number,
                                          store_kind kind = store_kind::store);
/// The file's name when it is complete.
[[nodiscard]] std::string complete_file_name(std::uint64_t number, const file_owner& owner);
/// The name of the sidecar, which lists the contents of a complete file.
[[nodiscard]] std::string sidecar_name(std::uint64_t number, const file_owner& owner);

[[nodiscard]] bool is_sidecar_name(const std::string& name);

struct block_file_name {
  std::uint64_t number = 0;
  std::optional<file_owner> complete; ///< set if the file is complete

  /// Returns nothing if the name is no block file's.
  [[nodiscard]] static std::optional<block_file_name> read(const std::string& name,
                                                           store_kind kind = store_kind::store);
  [[nodiscard]] std::string text(store_kind kind = store_kind::store) const {
    return complete ? complete_file_name(number, *complete) : store_file_name(number, kind);
  }
};
/// The block files in a folder, by number. A file that gets its complete name meanwhile is listed
/// once, by that name. Throws std::system_error if there is no such folder, and std::runtime_error
/// if two complete files have the same number, as after merging two stores into one folder.
[[nodiscard]] std::vector<block_file_name> block_files_in(const std::filesystem::path& folder,
                                                          store_kind kind = store_kind::store);
/// The file with this number under its current name; if there is none, its name while it is
/// written. Its name may change at any time. It lists the folder if nothing has the name `listed`;
/// for many files, list once and pass those names.
[[nodiscard]] std::filesystem::path find_store_file(const std::filesystem::path& folder,
                                                    const block_file_name& listed,
                                                    store_kind kind = store_kind::store);
/// Sorted numbers of the block files in a folder. Throws std::system_error if there is no such
/// folder.
[[nodiscard]] std::vector<std::uint64_t> store_file_numbers(const std::filesystem::path& folder,
                                                            store_kind kind = store_kind::store);

class block_file {
public:
  /// A flush such as fdatasync: returns 0, or −1 with errno.
  using flush_function = int (*)(int file);

  /// Creates the file with this number and its head. `flush_name`, unless null, flushes its name.
  /// After an error there is no such file, and this object is unchanged.
  [[nodiscard]] std::error_code open(const held_folder& folder, std::uint64_t number,
                                     store_kind kind, flush_function flush_name);
  void close() { *this = block_file(); }
  [[nodiscard]] bool is_open() const { return static_cast<bool>(file_); }
  /// False after an error that leaves the file's contents in doubt: the next block goes into
  /// another file. A full disk leaves no doubt.
  [[nodiscard]] bool is_sound() const { return sound_; }

  /// Appends a block.
  [[nodiscard]] std::error_code append(std::span<const std::byte> block);
  /// After an error it is unknown which bytes are on disk, and a second flush would not tell.
  [[nodiscard]] std::error_code flush(flush_function how);
  /// Returns `no_such_file_or_directory` if the file was removed. Appended blocks are safe only
  /// after this succeeds.
  [[nodiscard]] std::error_code check() const;
  /// Its contents are in doubt.
  void give_up() { sound_ = false; }
  /// Removes the blocks after this place. If that fails, the next start skips them.
  void cut(std::uint64_t end);

  [[nodiscard]] int descriptor() const { return file_.get(); }
  [[nodiscard]] std::uint64_t number() const { return number_; }
  [[nodiscard]] std::uint64_t end() const { return end_; } ///< where the next block begins
  /// Whether the file has blocks, and another one would make it longer than `limit`.
  [[nodiscard]] bool is_full_for(std::uint64_t block_bytes, std::uint64_t limit) const;

private:
  file_descriptor file_;
  std::uint64_t number_ = 0;
  std::uint64_t end_ = 0;
  bool sound_ = true;
};

} // namespace l3
