// SPDX-License-Identifier: Apache-2.0
// The offsets of the parts of a packed event (docs/formats.md, section 7): header, tables, summary,
// data. Kernels and host use the same functions.
#pragma once

#include <cstdint>

#include "transport/format/block.hpp"
#include "transport/format/endian.hpp"

namespace l3 {

inline constexpr std::uint64_t packed_alignment = 8;

/// Offset of the summary: after header and tables. Without a summary it is that of the data.
[[nodiscard]] L3_FN constexpr std::uint64_t summary_offset(std::uint64_t fragments,
                                                           std::uint64_t boards) {
  return round_up(sizeof(packed_event) + fragments * sizeof(packed_fragment) +
                      boards * sizeof(packed_board),
                  packed_alignment);
}

/// Offset of the data. `between`: length of summary and payload table together.
[[nodiscard]] L3_FN constexpr std::uint64_t
data_offset(std::uint64_t fragments, std::uint64_t boards, std::uint64_t between = 0) {
  return summary_offset(fragments, boards) + between;
}

} // namespace l3
