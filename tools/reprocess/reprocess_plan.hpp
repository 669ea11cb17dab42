// SPDX-License-Identifier: Apache-2.0
// What is to be done: which files of which stores, by which selection. It is made once and kept in
// the output folder, with copies of the files that decide, so that a task on any machine at any
// later time decides alike. Files that come later are added behind the others.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "selection/trigger/selection_files.hpp"
#include "tools/interrupt.hpp"
#include "tools/reprocess/reprocess_folder.hpp"
#include "transport/format/block.hpp"
#include "transport/format/readout.hpp"
#include "transport/store/block_file.hpp"

namespace l3 {

/// A file of a store.
struct reprocess_task {
  std::uint64_t number = 0; ///< from 1; also of the file that is written
  std::string store;        ///< its folder, an absolute path
  store_kind kind = store_kind::store;
  std::uint64_t file = 0;             ///< its number there
  std::optional<file_owner> complete; ///< as it was listed last; not in the plan

  /// Where it lies now: a file gets another name when it is complete.
  [[nodiscard]] std::filesystem::path path() const {
    return find_store_file(store, {file, complete}, kind);
  }
};

struct reprocess_plan {
  std::uint32_t settings = 0;    ///< the hash of all that decides (docs/formats.md, section 7)
  std::optional<codec_id> codec; ///< of the output's events; nothing: as in the input
  readout crates;
  selection_files files; ///< the copies in the folder; `built_in` where there is none
  std::vector<std::string> stores;
  std::vector<reprocess_task> tasks;

  /// Adds the files of these stores that are no tasks yet. Throws command_error for a folder that
  /// is none, holds no file of a store, or is the output itself.
  void add_stores(const reprocess_folder& out, const std::vector<std::string>& folders);
  /// Files that lie in the stores and are no tasks.
  [[nodiscard]] std::vector<reprocess_task> new_files() const;
};

[[nodiscard]] std::string_view name_of(codec_id codec);
/// As in output.codec. Nothing for any other text.
[[nodiscard]] std::optional<codec_id> read_codec(std::string_view name);

/// What the settings in the first block of each file of these stores say; nothing: no file has
/// any. Throws command_error if two differ, or after a signal.
[[nodiscard]] std::optional<readout> stored_readout(const std::vector<std::string>& stores,
                                                    interrupt& signals);

/// Throws command_error if there is no plan, or it is none.
[[nodiscard]] reprocess_plan read_plan(const reprocess_folder& folder);
[[nodiscard]] bool has_plan(const reprocess_folder& folder);
/// Writes the plan. Throws std::system_error.
void write_plan(const reprocess_folder& folder, const reprocess_plan& plan);
/// Makes the folder, and copies what decides into it. Throws command_error if it holds anything
/// that is not of a reprocessing, std::system_error.
[[nodiscard]] selection_files keep_files(const reprocess_folder& folder,
                                         const selection_files& given);

} // namespace l3
