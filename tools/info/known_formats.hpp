// SPDX-License-Identifier: Apache-2.0
// The stored formats of docs/formats.md, and by which bytes each is known.
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
  std::string_view magic;   ///< first bytes
  std::size_t version_at;   ///< offset of the byte that says the version; 0: not in the bytes
  std::uint32_t newest = 1; ///< the last version that this program reads
};

struct recognised {
  const known_format* format;
  std::uint32_t version;
};

/// By the first bytes of a file, 64 of them if it has so many; by its name a file whose places are
/// all vacant. Releases and records of level 2 have one magic number, and differ in the byte behind
/// the version.
[[nodiscard]] std::optional<recognised> recognise(std::string_view first_bytes,
                                                  std::string_view name);

} // namespace l3
