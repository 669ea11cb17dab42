// SPDX-License-Identifier: Apache-2.0
// What a segment of a spool holds when a daemon finds it at its start: whole blocks, stretches that
// are damaged, and the end that a crash tore off. Scanning reads 64 bytes a block, and all of the
// newest segment, where a crash of the machine may have left blocks whose bytes never reached the
// disk.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "transport/store/store_reader.hpp"

namespace l3 {

/// Bytes of a segment that are no good block.
struct spool_stretch {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint32_t events = 0; ///< if its header is good and tells
};

struct spool_scan {
  std::uint64_t bytes = 0;            ///< of the file
  std::vector<stored_block> blocks;   ///< with a good header; with `thorough`, with a good payload
  std::vector<spool_stretch> damaged; ///< before the last of them, and whole blocks after it
  std::optional<spool_stretch> torn;  ///< behind it
  std::uint64_t good_end = 0;         ///< of the last of `blocks`, or of the file's head
  bool readable = true;               ///< no: the disk refuses a part; what lies there is not known
};

/// Throws std::runtime_error if the file cannot be opened or is of another version.
[[nodiscard]] spool_scan scan_segment(const std::filesystem::path& folder, std::uint64_t number,
                                      bool thorough);

} // namespace l3
