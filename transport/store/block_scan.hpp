// SPDX-License-Identifier: Apache-2.0
// What a block file holds when a receiver or a daemon finds it at its start: whole blocks,
// stretches that are damaged, and the end that a crash tore off. A scan reads 64 bytes a block; a
// thorough one reads all, for a file in which a crash of the machine may have left blocks whose
// bytes never reached the disk.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "transport/store/store_reader.hpp"

namespace l3 {

/// Bytes of a block file that are no good block.
struct damaged_stretch {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  bool has_header = false;  ///< the block's header is good, and only its payload is not
  std::uint32_t events = 0; ///< in the block, if the header tells
};

struct found_block : stored_block {
  bool behind_damage = false; ///< something before it in the file is damaged
};

struct block_scan {
  std::uint64_t bytes = 0;              ///< of the file
  std::vector<found_block> blocks;      ///< with a good header; if thorough, with a good payload
  std::vector<damaged_stretch> damaged; ///< each begins before the end of the last whole block
  std::optional<damaged_stretch> torn;  ///< all that is behind it
  std::uint64_t good_end = 0;           ///< end of the last of `blocks`, or of the file's head
  std::uint64_t stepped_over = 0;       ///< the head, and places where no good header begins
  bool readable = true; ///< false: the disk refuses a part; what lies there is not known
};

/// Throws std::runtime_error if the file cannot be opened or is of another version.
[[nodiscard]] block_scan scan_block_file(const std::filesystem::path& folder, std::uint64_t number,
                                         store_kind kind, bool thorough);

} // namespace l3
