// SPDX-License-Identifier: Apache-2.0
// The description of a stored file or folder for `koto-l3 info`. The facts are a JSON object in
// reading order; the text on a terminal is made from the same object. A damaged file is read as far
// as its format allows, and each damage gives one sentence.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "tools/info/known_formats.hpp"

namespace l3 {

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
void describe_strong_waveforms(const std::filesystem::path& file, const reading_progress& tell,
                               information& to);
void describe_bare_blocks(const std::filesystem::path& file, information& to);
void describe_releases(const std::filesystem::path& file, information& to);
void describe_run_record(const std::filesystem::path& file, information& to);

} // namespace l3
