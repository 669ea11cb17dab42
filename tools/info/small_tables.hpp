// SPDX-License-Identifier: Apache-2.0
// Reads the small files of entries beside the blocks of a store or a spool (docs/formats.md,
// sections 9 and 11), without writing or locking anything.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "transport/format/spool.hpp"

namespace l3 {

template <class Entry>
struct table_of {
  std::vector<Entry> entries; ///< with a valid checksum
  std::uint64_t damaged = 0;  ///< neither valid nor free
  std::uint64_t bytes = 0;    ///< of the file
};

/// Throws command_error if the file cannot be read.
[[nodiscard]] table_of<spool_release> read_releases(const std::filesystem::path& file);

/// "2026-11-23 08:15:00 UTC"
[[nodiscard]] std::string utc_text(std::uint64_t ns_since_1970);

} // namespace l3
