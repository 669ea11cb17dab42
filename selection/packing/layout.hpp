// SPDX-License-Identifier: Apache-2.0
// Where the parts of a packed event stand (docs/formats.md, section 7).
#pragma once

#include <cstdint>

#include "transport/format/block.hpp"
#include "transport/format/endian.hpp"

namespace l3 {

inline constexpr std::uint64_t packed_alignment = 8;

/// Where the summary starts, and the data if there is none: after header and tables.
[[nodiscard]] L3_FN constexpr std::uint64_t summary_offset(std::uint64_t fragments,
                                                           std::uint64_t boards) {
  return round_up(sizeof(packed_event) + fragments * sizeof(packed_fragment) +
                      boards * sizeof(packed_board),
                  packed_alignment);
}

/// Where the data starts.
[[nodiscard]] L3_FN constexpr std::uint64_t
data_offset(std::uint64_t fragments, std::uint64_t boards, std::uint64_t summary_bytes = 0) {
  return summary_offset(fragments, boards) + summary_bytes;
}

} // namespace l3
