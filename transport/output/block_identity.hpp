// SPDX-License-Identifier: Apache-2.0
// What all blocks of one session have in common: it stands in each block's header
// (docs/formats.md, section 6). The session is a random number; blocks are numbered within it, and
// the two together name a block for ever.
#pragma once

#include <cstdint>

namespace l3 {

struct block_identity {
  std::uint64_t session = 0; ///< see random_session(); 0: no session
  std::uint32_t run = 0;
  std::uint32_t node = 0;

  friend bool operator==(const block_identity&, const block_identity&) = default;
};

/// Never 0, and never the same twice as far as chance goes.
[[nodiscard]] std::uint64_t random_session();

} // namespace l3
