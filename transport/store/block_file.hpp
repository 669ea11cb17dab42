// SPDX-License-Identifier: Apache-2.0
// The files of output blocks that a receiver's store and a daemon's spool write: their names in a
// folder, and the one that is being written (docs/formats.md, sections 9 and 11). A block_file
// holds its head and whole blocks: what append() refuses is cut off again. A block counts as safe
// only after check(), which says whether the file's name still leads to what was written. Readers
// have store_file.
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

/// They differ in their files' names, and in what a wrong head means.
enum class store_kind : std::uint8_t { store, spool };
/// What the files of a folder say: a store, unless all are a spool's, of which there may be no
/// segment left.
[[nodiscard]] store_kind kind_of(const std::filesystem::path& folder);

/// Whose blocks are in a file of a store to which nothing is added any more: its name says so.
struct file_owner {
  std::uint32_t run = 0;
  std::uint32_t node = 0;
  bool several = false; ///< of several runs or nodes, and the two above say nothing

  friend bool operator==(const file_owner&, const file_owner&) = default;
};

/// Of a file of a store or a spool, from 1; an index of events has 32 bits for it.
inline constexpr std::uint64_t highest_file_number = 0xFFFF'FFFF;

/// With which a new file of this number begins.
[[nodiscard]] store_file_header head_of_file(std::uint64_t number,
                                             store_kind kind = store_kind::store);

/// As it is called while it is written. Segments of a spool keep that name.
[[nodiscard]] std::filesystem::path store_file_path(const std::filesystem::path& folder,
                                                    std::uint64_t number,
                                                    store_kind kind = store_kind::store);
[[nodiscard]] std::string store_file_name(std::uint64_t number,
                                          store_kind kind = store_kind::store);
/// As it is called when it is complete.
[[nodiscard]] std::string complete_file_name(std::uint64_t number, const file_owner& owner);
/// Of the file beside it that says what is in it.
[[nodiscard]] std::string sidecar_name(std::uint64_t number, const file_owner& owner);

[[nodiscard]] bool is_sidecar_name(const std::string& name);

struct block_file_name {
  std::uint64_t number = 0;
  std::optional<file_owner> complete; ///< nothing is added to it any more

  /// Nothing: no block file has such a name.
  [[nodiscard]] static std::optional<block_file_name> read(const std::string& name,
                                                           store_kind kind = store_kind::store);
  [[nodiscard]] std::string text(store_kind kind = store_kind::store) const {
    return complete ? complete_file_name(number, *complete) : store_file_name(number, kind);
  }
};
/// The block files in a folder, by rising number. One that gets its complete name meanwhile may be
/// listed under both: it is given once, by that name. Throws std::system_error if there is no such
/// folder, and std::runtime_error if two complete files have one number, as where two stores were
/// copied into one folder.
[[nodiscard]] std::vector<block_file_name> block_files_in(const std::filesystem::path& folder,
                                                          store_kind kind = store_kind::store);
/// The file of this number, whatever its name is now; as it is called while it is written, if there
/// is none. It may get its other name at any time. It lists the folder where nothing has the name
/// `listed`: of many files, give their names as they were listed once.
[[nodiscard]] std::filesystem::path find_store_file(const std::filesystem::path& folder,
                                                    const block_file_name& listed,
                                                    store_kind kind = store_kind::store);
/// Numbers of the block files in a folder, rising. Throws std::system_error if there is no such
/// folder.
[[nodiscard]] std::vector<std::uint64_t> store_file_numbers(const std::filesystem::path& folder,
                                                            store_kind kind = store_kind::store);

class block_file {
public:
  /// What makes bytes survive the machine, such as fdatasync: 0, or −1 and errno.
  using flush_function = int (*)(int file);

  /// Makes the file of this number, with its head. `flush_name`, unless null, makes its name
  /// survive the machine. After an error there is no such file, and this one is as it was.
  [[nodiscard]] std::error_code open(const held_folder& folder, std::uint64_t number,
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
  /// No error: the file has a name. `no_such_file_or_directory`: it was removed. What was appended
  /// before is safe only after this.
  [[nodiscard]] std::error_code check() const;
  /// Takes back the blocks behind this place. Should the disk refuse, the next start steps over
  /// them.
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

} // namespace l3
