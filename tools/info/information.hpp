// SPDX-License-Identifier: Apache-2.0
// What there is to say of a stored file or folder, whatever it is: `koto-l3 info`. The facts are a
// JSON object in the order in which a person reads them; the text on a terminal is made of the same
// object. A file that is damaged is read as far as its format allows, and each damage is a
// sentence.
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

/// Told how many bytes of how many are read; it may throw to end the reading.
using reading_progress = std::function<void(std::uint64_t done, std::uint64_t all)>;

/// Throws command_error: exit code 69 for what cannot be read, 1 for what is none of koto-l3's
/// files, or of a version that this program does not know.
[[nodiscard]] recognised recognise_file(const std::filesystem::path& file);
/// Throws as recognise_file().
[[nodiscard]] information read_information(const std::filesystem::path& path,
                                           const reading_progress& tell);

/// For people: a line or a table for each fact, then the damage.
[[nodiscard]] std::string text_of(const std::filesystem::path& path, const information& i);
[[nodiscard]] std::string json_of(const std::filesystem::path& path, const information& i);

// One format each; read_information() has looked at the magic number and the version.
void describe_level2(const std::filesystem::path& file, const reading_progress& tell,
                     information& to);
void describe_block_file(const std::filesystem::path& file, const reading_progress& tell,
                         information& to);
/// A ledger, or the sidecar of a store's file.
void describe_account(const std::filesystem::path& file, information& to);
/// False: it is no folder of ledgers.
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
