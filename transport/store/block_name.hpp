// SPDX-License-Identifier: Apache-2.0
// What a block is known by wherever it stands: two blocks of one name are copies.
#pragma once

#include <cstdint>
#include <utility>

#include "transport/format/block.hpp"

namespace l3 {

/// Session, sequence number.
using block_name = std::pair<std::uint64_t, std::uint64_t>;

[[nodiscard]] inline block_name name_of(const block_header& h) { return {h.session, h.sequence}; }

} // namespace l3
