// SPDX-License-Identifier: Apache-2.0
// What a block is known by wherever it stands: two blocks of one name are copies. Blocks without
// the flag are another peer's that used the session's number, and count apart (docs/formats.md,
// section 9).
#pragma once

#include <cstdint>
#include <tuple>

#include "transport/format/block.hpp"

namespace l3 {

/// Session, whether with its token, sequence number.
using block_name = std::tuple<std::uint64_t, bool, std::uint64_t>;

[[nodiscard]] inline block_name name_of(const block_header& h) {
  return {h.session, (h.flags & block_proven) != 0, h.sequence};
}

} // namespace l3
