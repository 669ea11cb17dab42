// SPDX-License-Identifier: Apache-2.0
// Finds the boards in a fragment whose bytes have all arrived, or says why it is malformed
// (docs/formats.md, sections 1 and 2). Of a plain board, whose length is fixed, it reads only
// both ends; the decoder checks the sample tags. An opaque board has no fixed length and is
// scanned word by word to its end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "transport/accounting/counters.hpp"
#include "transport/format/batch.hpp"
#include "transport/format/event_key.hpp"
#include "transport/format/readout.hpp"

namespace l3 {

/// A fragment as it arrived: pieces of equal length (the last may be shorter) anywhere in memory. A
/// view, owns nothing.
struct fragment_pieces {
  const std::byte* memory = nullptr;
  const piece_offset* pieces = nullptr;
  std::uint32_t piece_bytes = 0; ///< a multiple of 4, not 0
  std::uint32_t bytes = 0;
};

/// What was found in a fragment. If `problem` says that it is malformed, only the digest has a
/// meaning besides.
struct fragment_index {
  std::optional<malformed> problem;
  std::uint16_t boards = 0;
  bool opaque = false;               ///< at least one board is
  std::optional<std::uint32_t> time; ///< time stamp of the first board that is not opaque
  /// Tells fragments apart: of equal bytes equal, however they are cut. It covers the length of the
  /// fragment, and of each board the first and last 16 bytes, that is header, footer and two
  /// samples beside each. What lies between them it does not see; of a malformed fragment, nothing
  /// from the board on that is wrong.
  std::uint64_t digest = 0;
};

/// Writes offset, length, slot, kind and opacity of each board to `out`, which holds crate.boards
/// entries. The caller fills in the event and fragment index of each entry.
[[nodiscard]] fragment_index index_fragment(const fragment_pieces& fragment,
                                            const crate_readout& crate, event_key key,
                                            std::span<board_entry> out);

/// Fetches from memory what index_fragment() looks at first.
void prefetch_borders(const fragment_pieces& fragment);

} // namespace l3
