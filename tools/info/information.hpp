// SPDX-License-Identifier: Apache-2.0
// The description of a stored file or folder for `koto-l3 info`. The facts are a JSON object in
// reading order; the text on a terminal is made from the same object. A damaged file is read as far
// as its format allows, and each damage gives one sentence.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>

#include "tools/command_error.hpp"
#include "transport/format/spool.hpp"
#include "transport/store/store_reader.hpp"

namespace l3 {

/// The stored formats of docs/formats.md and the bytes that identify them.
enum class stored_format : std::uint8_t {
  level2,
  store_file,
  strong_waveforms,
  releases,
  kept_batch,
  run_record,
  ledger,
};

struct known_format {
  stored_format format;
  std::string_view word;             ///< for programs
  std::string_view title;            ///< for people
  std::string_view magic;            ///< the first bytes
  std::size_t version_at;            ///< offset of the version byte; 0: the version is not stored
  std::uint32_t newest = 1;          ///< the latest version that this program reads
  std::string_view command = "info"; ///< of koto-l3, that reads it
};

struct recognised {
  const known_format* format;
  std::uint32_t version;
};

/// Recognises a file by its first bytes (up to 64), or by name if all its entries are free. Release
/// files and level-2 records have the same magic number, and differ in the byte after the version.
[[nodiscard]] std::optional<recognised> recognise(std::string_view first_bytes,
                                                  std::string_view name);

// What a path is, for the message of a command that needs another kind of path.

/// "a store, which `koto-l3 select` reads": of a folder, or a file that koto-l3
/// wrote. Empty for any other path.
[[nodiscard]] std::string known_kind(const std::filesystem::path& path);
/// Throws command_error if the path is a folder or a file of koto-l3 of another kind; `needed` ends
/// the message. The readers refuse unknown files.
void refuse_other_kind(const std::filesystem::path& path, stored_format wanted,
                       std::string_view needed = "a .l2raw file is needed here");
/// Throws command_error, saying what it is, unless the path is a folder.
void check_folder(const std::filesystem::path& folder);

struct information {
  std::string kind;          ///< a word, for programs
  std::string title;         ///< for people
  std::uint32_t version = 1; ///< of a folder: the highest of its files
  boost::json::object facts;
  std::vector<std::string> damage;
};

/// Called with the bytes read and their total; may throw to end the reading.
using reading_progress = std::function<void(std::uint64_t done, std::uint64_t all)>;

/// Throws command_error: exit code 69 for unreadable files, 1 for files that are not koto-l3's or
/// have an unknown version.
[[nodiscard]] recognised recognise_file(const std::filesystem::path& file);
/// Throws like recognise_file().
[[nodiscard]] information read_information(const std::filesystem::path& path,
                                           const reading_progress& tell);

/// Text for people: a line or a table per fact, then the damage.
[[nodiscard]] std::string text_of(const std::filesystem::path& path, const information& i);
[[nodiscard]] std::string json_of(const std::filesystem::path& path, const information& i);

// One function per format; read_information() has checked magic number and version.
void describe_level2(const std::filesystem::path& file, const reading_progress& tell,
                     information& to);
void describe_block_file(const std::filesystem::path& file, const reading_progress& tell,
                         information& to);
/// A ledger, or the sidecar of a store file.
void describe_account(const std::filesystem::path& file, information& to);
/// Returns false if it is no folder of ledgers.
[[nodiscard]] bool describe_ledgers(const std::filesystem::path& folder, information& to);
/// A store or a spool.
void describe_folder(const std::filesystem::path& folder, const reading_progress& tell,
                     information& to);
void describe_releases(const std::filesystem::path& file, information& to);
void describe_run_record(const std::filesystem::path& file, information& to);

/// Reads the small files of entries beside the blocks of a store or a spool (docs/formats.md,
/// sections 9 and 11), without writing or locking anything.
template <class Entry>
struct table_of {
  std::vector<Entry> entries; ///< with a valid checksum
  std::uint64_t damaged = 0;  ///< neither valid nor free
  std::uint64_t bytes = 0;    ///< of the file
};

/// Throws command_error if the file cannot be read.
[[nodiscard]] table_of<spool_release> read_releases(const std::filesystem::path& file);

// Opens the folder that `verify`, `extract` and others read: a store of `receive`, or a spool of a
// daemon. A mistyped name is an error before anything is compared or written.

/// Throws unless the folder exists and has a block file.
inline void check_store(const std::filesystem::path& folder) {
  const store_kind kind = kind_of(folder);
  if (!store_file_numbers(folder, kind).empty()) return;
  if (kind == store_kind::spool)
    throw command_error(folder.string() +
                            " is a spool without waiting blocks: nothing is stored there",
                        exit_missing_resource);
  const char* const and_empty =
      std::filesystem::is_empty(folder)
          ? ", which is empty: its receiver or daemon has not stored anything yet"
          : "";
  throw command_error("no store: no file blocks-*.kl3 or spool-*.kl3 in " + folder.string() +
                          and_empty,
                      exit_missing_resource);
}

} // namespace l3
