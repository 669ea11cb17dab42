// SPDX-License-Identifier: Apache-2.0
// The stored formats of docs/formats.md and the bytes that identify them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace l3 {

enum class stored_format : std::uint8_t {
  level2,
  store_file,
  block,
  strong_waveforms,
  releases,
  kept_batch,
  run_record,
  ledger,
};

struct known_format {
  stored_format format;
  std::string_view word;    ///< for programs
  std::string_view title;   ///< for people
  std::string_view magic;   ///< the first bytes
  std::size_t version_at;   ///< offset of the version byte; 0: the version is not stored
  std::uint32_t newest = 1; ///< the latest version that this program reads
};

struct recognised {
  const known_format* format;
  std::uint32_t version;
};

/// Recognises a file by its first bytes (up to 64), or by name if all its entries are free. Release
/// files and level-2 records have the same magic number, and differ in the byte behind the version.
[[nodiscard]] std::optional<recognised> recognise(std::string_view first_bytes,
                                                  std::string_view name);

} // namespace l3
