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

/// The largest excess of a board's packed data over its packet: the length of a group of the strong
/// codec, or the mask of a limited board.
inline constexpr std::uint32_t encoded_excess_bytes = 2;
/// An event's extent is the part of the output that it may fill. It begins at a multiple of this.
inline constexpr std::uint64_t extent_alignment = 16;

/// Offset of the data. `between`: length of summary and payload table together.
[[nodiscard]] L3_FN constexpr std::uint64_t
data_offset(std::uint64_t fragments, std::uint64_t boards, std::uint64_t between = 0) {
  return summary_offset(fragments, boards) + between;
}

/// Bytes of the extent for any packed event with these tables and `bytes` of fragments.
[[nodiscard]] L3_FN constexpr std::uint64_t extent_bytes(std::uint64_t fragments,
                                                         std::uint64_t boards, std::uint64_t bytes,
                                                         std::uint64_t between) {
  return round_up(data_offset(fragments, boards, between) + bytes + boards * encoded_excess_bytes,
                  extent_alignment);
}

} // namespace l3
