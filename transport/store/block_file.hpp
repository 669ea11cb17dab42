// SPDX-License-Identifier: Apache-2.0
// The files of output blocks that a receiver's store and a daemon's spool write: their names in a
// folder, and the one that is being written (docs/formats.md, sections 9 and 11). A block_file
// holds its head and whole blocks: what append() refuses is cut off again. Readers have store_file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <system_error>
#include <vector>

#include "transport/system/file_descriptor.hpp"

namespace l3 {

/// They differ in their files' names, and in what a wrong head means.
enum class store_kind : std::uint8_t { store, spool };
/// What the files of a folder say: a store, unless all are a spool's.
[[nodiscard]] store_kind kind_of(const std::filesystem::path& folder);

[[nodiscard]] std::filesystem::path store_file_path(const std::filesystem::path& folder,
                                                    std::uint64_t number,
                                                    store_kind kind = store_kind::store);
[[nodiscard]] inline std::filesystem::path torn_file_path(const std::filesystem::path& folder,
                                                          std::uint64_t number) {
  return store_file_path(folder, number).replace_extension(".torn");
}
/// Path of the empty file that says: this block file holds blocks whose payloads are wrong.
[[nodiscard]] inline std::filesystem::path damage_mark_path(const std::filesystem::path& folder,
                                                            std::uint64_t number) {
  return store_file_path(folder, number).replace_extension(".damaged");
}
/// Numbers of the block files in a folder, rising. Throws std::system_error if there is no such
/// folder.
[[nodiscard]] std::vector<std::uint64_t> store_file_numbers(const std::filesystem::path& folder,
                                                            store_kind kind = store_kind::store);

/// The folder, locked for this process and writable. Throws std::runtime_error that says what is
/// wrong; `program` is what the other one is called that has it in use.
[[nodiscard]] file_descriptor take_folder(const std::filesystem::path& path,
                                          std::string_view program);

class block_file {
public:
  /// What makes bytes survive the machine, such as fdatasync: 0, or −1 and errno.
  using flush_function = int (*)(int file);

  /// Makes the file of this number, with its head. `flush_name`, unless null, makes its name
  /// survive the machine. After an error there is no such file, and this one is as it was.
  [[nodiscard]] std::error_code open(const std::filesystem::path& folder, std::uint64_t number,
                                     store_kind kind, flush_function flush_name);
  void close() { *this = block_file(); }
  [[nodiscard]] bool is_open() const { return static_cast<bool>(file_); }
  /// False after an error that leaves doubt about what the file holds: the next block belongs into
  /// another one. Want of room leaves none.
  [[nodiscard]] bool is_sound() const { return sound_; }

  /// Writes behind the last block.
  [[nodiscard]] std::error_code append(std::span<const std::byte> block);
  /// After an error it is not known which bytes are on the disk, and a second flush would not tell.
  [[nodiscard]] std::error_code flush(flush_function how);
  /// Takes back the blocks behind this place. Should the disk refuse, the next block overwrites
  /// them, or the next start steps over them.
  void cut(std::uint64_t end);

  [[nodiscard]] std::uint64_t number() const { return number_; }
  [[nodiscard]] std::uint64_t end() const { return end_; } ///< where the next block will begin
  /// It has blocks, and this one would make it longer than `limit`.
  [[nodiscard]] bool is_full_for(std::uint64_t block_bytes, std::uint64_t limit) const;

private:
  file_descriptor file_;
  std::uint64_t number_ = 0;
  std::uint64_t end_ = 0;
  bool sound_ = true;
};

/// Copies bytes of a block file to a new file, which an older one of that name makes way for. After
/// an error there is no copy.
[[nodiscard]] std::error_code set_aside(const std::filesystem::path& from, std::uint64_t offset,
                                        std::uint64_t bytes, const std::filesystem::path& to);

} // namespace l3
