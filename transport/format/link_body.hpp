// SPDX-License-Identifier: Apache-2.0
// What a receiver tells a daemon with each answer (docs/formats.md, section 8). Structs as they lie
// in the stream.
#pragma once

#include <cstdint>

namespace l3 {

/// The body of a welcome and of an acknowledgement: which blocks have come before their turn, over
/// another connection.
struct link_answer_body {
  std::uint64_t missing = 0;  ///< the block that the receiver waits for
  std::uint64_t early = 0;    ///< bit i: block missing + 1 + i has come, and is kept
  std::uint32_t receiver = 0; ///< by chance another one in each
  std::uint32_t body_crc = 0; ///< CRC-32C of the bytes before it
};
static_assert(sizeof(link_answer_body) == 24);

} // namespace l3
