// SPDX-License-Identifier: Apache-2.0
// Opens the folder that `verify`, `extract` and others read: a store of `receive`, or a spool of a
// daemon. A mistyped name is an error before anything is compared or written.
#pragma once

#include <filesystem>

#include "tools/command_error.hpp"
#include "transport/store/store_reader.hpp"

namespace l3 {

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
