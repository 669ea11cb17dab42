// SPDX-License-Identifier: Apache-2.0
// The small file into which a daemon writes the outcomes of its events twice a second
// (docs/formats.md, section 13).
#pragma once

#include <cstdint>

namespace l3 {

/// The contents of the file: 8-byte numbers, little-endian, in this order.
struct run_record {
  std::uint64_t magic = 0;
  std::uint64_t session = 0;
  std::uint64_t run = 0;
  std::uint64_t started = 0; ///< ns since 1970-01-01 UTC
  std::uint64_t noted = 0;   ///< likewise, when these counts were read
  std::uint64_t admitted = 0;
  std::uint64_t forwarded = 0;
  std::uint64_t rejected = 0;
  std::uint64_t shed = 0;
  std::uint64_t on_disk = 0;
  std::uint64_t ended = 0; ///< 1 if the run ended properly

  static constexpr std::uint64_t right_magic = 0x0001'0000'4c33'4c4b; ///< "KL3L", version 1

  friend bool operator==(const run_record&, const run_record&) = default;
};

} // namespace l3
