// SPDX-License-Identifier: Apache-2.0
// What the ends of the output link tell each other beside blocks (docs/formats.md, section 8):
// what a lane could send, and what it may. Structs as they lie in the stream.
#pragma once

#include <cstdint>

namespace l3 {

/// The body of a heartbeat to a receiver that divides its line: what a lane could send.
struct link_demand_body {
  std::uint64_t waiting = 0;  ///< bytes of its blocks that were not sent yet
  std::uint64_t rate = 0;     ///< the most that its daemon sends, in bits a second; 0: no limit
  std::uint32_t demand = 0;   ///< its number, from 1 up
  std::uint32_t grant = 0;    ///< number of the latest grant that the daemon has; 0: none
  std::uint32_t weight = 1;   ///< the lanes of one node divide its part in this proportion
  std::uint32_t body_crc = 0; ///< CRC-32C of the bytes before it
};
static_assert(sizeof(link_demand_body) == 32);

/// The body of a welcome and of an acknowledgement: the part of the line that this lane may use,
/// and which blocks have come before their turn, over another connection.
struct link_answer_body {
  std::uint64_t rate = 0;     ///< granted, in bits a second
  std::uint32_t grant = 0;    ///< its number; 0: this lane has to send a demand first
  std::uint32_t demand = 0;   ///< number of the demand that it answers
  std::uint32_t lease = 0;    ///< ms for which it holds, from when the daemon sent that demand
  std::uint32_t flags = 0;    ///< answer_flag
  std::uint64_t missing = 0;  ///< the block that the receiver waits for
  std::uint64_t early = 0;    ///< bit i: block missing + 1 + i has come, and is kept
  std::uint32_t receiver = 0; ///< by chance another one in each; 0: an older one, which says none
  std::uint32_t body_crc = 0; ///< CRC-32C of the bytes before it
};
static_assert(sizeof(link_answer_body) == 48);

enum answer_flag : std::uint32_t {
  answer_divides = 1,        ///< the receiver divides its line: no block goes without a grant
  answer_takes_settings = 2, ///< the receiver takes blocks of version 2
};

} // namespace l3
