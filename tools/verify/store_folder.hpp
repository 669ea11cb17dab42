// SPDX-License-Identifier: Apache-2.0
// The folder that `verify` and `extract` read: a store that `receive` wrote, or a spool that a
// daemon left. A mistyped name is an error before anything is compared or written.
#pragma once

#include <filesystem>
#include <string>

#include "tools/command_error.hpp"
#include "transport/store/store_manifest.hpp"
#include "transport/store/store_reader.hpp"

namespace l3 {

inline void check_folder(const std::filesystem::path& folder) {
  if (std::filesystem::is_directory(folder)) return;
  const std::string why = std::filesystem::exists(folder)
                              ? folder.string() + " is a file, and a store is a folder"
                              : "there is no folder " + folder.string();
  throw command_error("no store: " + why, exit_missing_resource);
}

/// Whether the folder exists and holds a block file.
inline void check_store(const std::filesystem::path& folder) {
  const store_kind kind = kind_of(folder);
  if (!store_file_numbers(folder, kind).empty()) return;
  if (kind == store_kind::spool)
    throw command_error(folder.string() +
                            " is a spool in which no block waits for the receiver: nothing is "
                            "stored there",
                        exit_missing_resource);
  if (std::filesystem::exists(folder / store_manifest::file_name))
    throw command_error(folder.string() + " is a store without a block: nothing is stored there",
                        exit_missing_resource);
  const char* const and_empty =
      std::filesystem::is_empty(folder)
          ? ", which is empty: so is a store before its first block, and a spool before the first "
            "start of its daemon"
          : "";
  throw command_error("no store: no file blocks-*.kl3 or spool-*.kl3 in " + folder.string() +
                          and_empty,
                      exit_missing_resource);
}

} // namespace l3
