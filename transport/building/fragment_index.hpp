// SPDX-License-Identifier: Apache-2.0
// Finds the boards in a fragment with all its bytes, or says why it is malformed (docs/formats.md,
// sections 1 and 2). It reads only both ends of a plain board, whose length is fixed; the decoder
// checks the sample tags. An opaque board has no fixed length and is scanned word by word to its
// end.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "transport/accounting/counters.hpp"
#include "transport/format/batch.hpp"
#include "transport/format/endian.hpp"
#include "transport/format/event_key.hpp"
#include "transport/format/l2.hpp"
#include "transport/format/readout.hpp"

namespace l3 {

/// The six words of a board header, loaded as the first four and the last two.
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
  /// Whether the first four words are neither compressed nor wrongly tagged.
  [[nodiscard]] bool begins_plain() const {
    constexpr std::uint64_t tags = l2::header_tag * 0x0001'0001'0001'0001U;
    constexpr std::uint64_t compressed = std::uint64_t{l2::compressed_bit} << 32;
    return (first_ & (tags | compressed)) == tags;
  }
  /// The last two words without the slot: tags, spill, event.
  [[nodiscard]] std::uint32_t place() const { return last_ & ~(l2::slot_of(0xffff) << 16); }
  [[nodiscard]] std::uint32_t time() const {
    return (word(2) & l2::payload_mask) << 14 | (word(3) & l2::payload_mask);
  }
  [[nodiscard]] std::uint32_t spill() const { return l2::spill_of(word4()); }
  [[nodiscard]] std::uint32_t slot() const { return l2::slot_of(word4()); }
  [[nodiscard]] bool slot_exists() const {
    return slot() >= l2::first_slot && slot() <= l2::last_slot;
  }
  [[nodiscard]] bool is_of_event(std::uint32_t number) const {
    return (last_ & l2::payload_mask) == (number & l2::payload_mask);
  }
  /// The first two words.
  [[nodiscard]] std::uint32_t begin() const { return static_cast<std::uint32_t>(first_ >> 32); }

private:
  /// One of the first four words.
  [[nodiscard]] std::uint32_t word(std::uint32_t n) const {
    return static_cast<std::uint32_t>(first_ >> (48 - 16 * n)) & 0xffffU;
  }
  [[nodiscard]] std::uint16_t word4() const { return static_cast<std::uint16_t>(last_ >> 16); }

  std::uint64_t first_;
  std::uint32_t last_;
};

/// Bytes at each end of a board that count in the digest. A board has at least 24.
inline constexpr std::uint32_t digested_bytes = 16;

/// Combines both halves of the product, so that each bit depends on all bits of both factors.
[[nodiscard]] inline std::uint64_t folded_product(std::uint64_t a, std::uint64_t b) {
  __extension__ using wide = unsigned __int128;
  const wide product = wide{a} * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

/// A hash of 16 bytes and `salt`.
[[nodiscard]] inline std::uint64_t mixed_bytes(const std::byte* from, std::uint64_t salt) {
  constexpr std::uint64_t one = 0x9e3779b97f4a7c15U;
  constexpr std::uint64_t other = 0xc2b2ae3d27d4eb4fU;
  std::array<std::uint64_t, 2> words;
  std::memcpy(words.data(), from, sizeof words);
  return folded_product((words[0] ^ one) + salt, words[1] ^ other);
}

/// A fragment as it arrived: pieces of equal length (the last may be shorter) anywhere in memory. A
/// view; owns nothing.
struct fragment_pieces {
  const std::byte* memory = nullptr;
  const piece_offset* pieces = nullptr;
  std::uint32_t piece_bytes = 0; ///< a multiple of 4, not 0
  std::uint32_t bytes = 0;
};

/// The result for a fragment. If `problem` is set, the fragment is malformed and only the digest is
/// valid besides.
struct fragment_index {
  std::optional<malformed> problem;
  std::uint16_t boards = 0;
  std::uint16_t slots = 0;           ///< of a fragment that was not walked: one bit for each board
  bool opaque = false;               ///< at least one board is opaque
  std::optional<std::uint32_t> time; ///< time stamp of the first board that is not opaque
  /// Identifies the content of a fragment, independent of its division into pieces. It covers the
  /// length and the first and last 16 bytes of each board: header, footer and two samples beside
  /// each. It does not cover the bytes between them, nor anything from the first wrong board on.
  std::uint64_t digest = 0;
};

/// Writes offset, length, slot, kind and opacity of each board to `out`, which holds crate.boards
/// entries. The caller fills in the event and fragment index of each entry.
[[nodiscard]] fragment_index index_fragment(const fragment_pieces& fragment,
                                            const crate_readout& crate, event_key key,
                                            std::span<board_entry> out);

} // namespace l3
