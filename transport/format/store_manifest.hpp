// SPDX-License-Identifier: Apache-2.0
// The entries of the file in which a receiver keeps what should be in the files of its store
// (docs/formats.md, section 9): one for each file and session.
#pragma once

#include <array>
#include <cstdint>

namespace l3 {

struct store_manifest_entry {
  std::array<char, 4> magic{'K', 'L', '3', 'M'};
  std::uint8_t version = 1;
  std::array<std::uint8_t, 3> reserved0{};
  std::uint64_t file = 0;    ///< its number
  std::uint64_t session = 0; ///< of the blocks
  std::uint64_t first = 0;   ///< lowest of their numbers
  std::uint64_t last = 0;    ///< highest
  std::uint64_t blocks = 0;
  std::uint64_t events = 0;
  std::uint64_t bytes = 0;    ///< of payload
  std::uint64_t repeated = 0; ///< events left out, because another session has stored them
  std::uint32_t reserved1 = 0;
  std::uint32_t crc = 0; ///< of the 76 bytes before it
};
static_assert(sizeof(store_manifest_entry) == 80);

} // namespace l3
