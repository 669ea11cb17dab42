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
#include "transport/format/endian.hpp"
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

/// The six words of a board header, the first four and the last two together.
class board_header {
public:
  static constexpr std::uint32_t bytes = 2 * l2::header_words;

  explicit board_header(const std::byte* at)
      : first_(load_big<std::uint64_t>(at)), last_(load_big<std::uint32_t>(at + sizeof first_)) {}

  [[nodiscard]] bool tagged() const {
    constexpr std::uint64_t tags = l2::header_tag * 0x0001'0001'0001'0001U;
    constexpr auto last_tags = static_cast<std::uint32_t>(tags);
    return (first_ & tags) == tags && (last_ & last_tags) == last_tags;
  }
  [[nodiscard]] bool compressed() const { return (word(1) & l2::compressed_bit) != 0; }
  [[nodiscard]] std::uint32_t time() const {
    return (word(2) & l2::payload_mask) << 14 | (word(3) & l2::payload_mask);
  }
  [[nodiscard]] std::uint32_t spill() const { return l2::spill_of(word4()); }
  [[nodiscard]] std::uint32_t slot() const { return l2::slot_of(word4()); }
  [[nodiscard]] std::uint32_t l1a() const { return last_ & l2::payload_mask; }
  /// The first two words.
  [[nodiscard]] std::uint32_t begin() const { return static_cast<std::uint32_t>(first_ >> 32); }

private:
  /// One of the first four.
  [[nodiscard]] std::uint32_t word(std::uint32_t n) const {
    return static_cast<std::uint32_t>(first_ >> (48 - 16 * n)) & 0xffffU;
  }
  [[nodiscard]] std::uint16_t word4() const { return static_cast<std::uint16_t>(last_ >> 16); }

  std::uint64_t first_;
  std::uint32_t last_;
};

/// Fetches from memory what spill_in_chunk() looks at.
void prefetch_header(const std::byte* chunk, std::uint32_t offset_in_fragment);
/// The spill number in a chunk's first whole board header, which is looked for where a fragment of
/// full boards has it. Nothing if no board header of this event is there.
[[nodiscard]] std::optional<std::uint32_t> spill_in_chunk(std::span<const std::byte> chunk,
                                                          std::uint32_t offset_in_fragment,
                                                          std::uint32_t event_number);

} // namespace l3
