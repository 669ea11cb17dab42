// SPDX-License-Identifier: Apache-2.0
// The checksum of a block file, as its sidecar has it, out of the headers of its blocks: each
// header has the checksum of its payload, which is right or found to be damaged. So a file is held
// against its sidecar without being read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "transport/format/block.hpp"
#include "transport/format/crc32c.hpp"

namespace l3 {

class header_checksum {
public:
  header_checksum() = default;
  /// Of a file that begins so.
  explicit header_checksum(std::span<const std::byte> head) : crc_(crc32c(head)) {}

  /// The next block: nothing lies between it and what was before.
  void add(const block_header& block) {
    crc_ = crc32c(std::as_bytes(std::span(&block, 1)), crc_);
    // A checksum moves on as over zeros, and then differs by that of the bytes alone.
    crc_ = ~crc32c_of_zeros(block.payload_bytes, ~crc_) ^ block.payload_crc;
  }
  [[nodiscard]] std::uint32_t value() const { return crc_; }

private:
  std::uint32_t crc_ = 0;
};

} // namespace l3
