// SPDX-License-Identifier: Apache-2.0
// The entries of the file beside a spool's segments that says which blocks are no longer needed
// (docs/formats.md, section 11).
#pragma once

#include <array>
#include <cstdint>

namespace l3 {

/// The file of spool_release entries. Every spool that a daemon has opened has one.
inline constexpr const char* spool_releases_name = "released.kl3r";

struct spool_release {
  std::array<char, 4> magic{'K', 'L', '3', 'R'};
  std::uint8_t version = 1;
  std::array<std::uint8_t, 3> reserved0{};
  std::uint64_t session = 0;
  std::uint64_t sequence = 0; ///< every block up to this one
  std::uint32_t waiting = 0;  ///< how many later numbers were on disk; 2^32 − 1: or more
  std::uint32_t crc = 0;      ///< of the 28 bytes before it

  friend bool operator==(const spool_release&, const spool_release&) = default;
};
static_assert(sizeof(spool_release) == 32);

} // namespace l3
