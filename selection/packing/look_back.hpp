// SPDX-License-Identifier: Apache-2.0
// Finds the end of a tile's data while all other CUDA blocks do so for their tiles. Each block
// publishes the length of its tile, then looks back over the words of earlier tiles until one of
// them gives its end; then the block publishes its own end.
//
// The blocks exchange only these words, so the words need no order with other accesses.
#pragma once

#include <cstdint>

#include "gpu/executors/atomics.hpp"
#include "gpu/executors/block.hpp"
#include "gpu/executors/solo.hpp"
#include "gpu/memory/column.hpp"
#include "selection/packing/layout.hpp"
#include "transport/format/endian.hpp"

namespace l3 {

/// A block's published word about the end of its tile, written by one store.
class position_word {
public:
  position_word() = default;
  L3_FN explicit position_word(std::uint64_t word) : word_(word) {}

  /// The tile ends `bytes` after the end of the previous tile. If the tile is the first of its
  /// event, that end is first rounded up to a multiple of 8.
  [[nodiscard]] L3_FN static position_word after_previous(std::uint64_t bytes, bool first) {
    return position_word(bytes << shift | (first ? first_bit : 0) | relative_bit);
  }
  /// The word of a tile that is longer by `bytes`. This word must be relative.
  [[nodiscard]] L3_FN position_word longer_by(std::uint64_t bytes) const {
    return position_word(word_ + (bytes << shift));
  }
  /// The tile ends at `end`.
  [[nodiscard]] L3_FN static position_word at(std::uint64_t end) {
    return position_word(end << shift | absolute_bit);
  }

  [[nodiscard]] L3_FN bool is_relative() const { return (word_ & relative_bit) != 0; }
  [[nodiscard]] L3_FN bool is_absolute() const { return (word_ & absolute_bit) != 0; }
  [[nodiscard]] L3_FN bool is_known() const { return is_relative() || is_absolute(); }
  /// Whether the tile is the first of its event and so begins at a multiple of 8.
  [[nodiscard]] L3_FN bool is_first() const { return (word_ & first_bit) != 0; }
  /// Relative: the length of the tile. Absolute: its end.
  [[nodiscard]] L3_FN std::uint64_t bytes() const { return word_ >> shift; }
  [[nodiscard]] L3_FN std::uint64_t word() const { return word_; }

  /// The end of the tile if the previous tile ends at `previous`.
  [[nodiscard]] L3_FN std::uint64_t end(std::uint64_t previous) const {
    if (is_absolute()) return bytes();
    return (is_first() ? round_up(previous, packed_alignment) : previous) + bytes();
  }

private:
  static constexpr std::uint32_t shift = 3;
  static constexpr std::uint64_t absolute_bit = 1;
  static constexpr std::uint64_t relative_bit = 2;
  static constexpr std::uint64_t first_bit = 4;

  std::uint64_t word_ = 0;
};

/// The step from the end of one tile to the end of another, over all tiles between them. Two
/// consecutive steps make one step; joining steps is associative.
class position_step {
public:
  /// The step over no tile.
  position_step() = default;
  /// The step over one tile; if the word is absolute, the step from 0 to its end.
  L3_FN explicit position_step(position_word over)
      : before_(over.is_first() ? 0 : over.bytes()), after_(over.is_first() ? over.bytes() : 0),
        rounds_(over.is_first()) {}
  L3_FN position_step(std::uint64_t before, std::uint64_t after, bool rounds)
      : before_(before), after_(after), rounds_(rounds) {}

  [[nodiscard]] L3_FN position_step then(const position_step& next) const {
    if (!rounds_) return {before_ + next.before_, next.after_, next.rounds_};
    if (!next.rounds_) return {before_, after_ + next.before_, true};
    return {before_, round_up(after_ + next.before_, packed_alignment) + next.after_, true};
  }
  [[nodiscard]] L3_FN std::uint64_t end(std::uint64_t from) const {
    return rounds_ ? round_up(from + before_, packed_alignment) + after_ : from + before_;
  }

  [[nodiscard]] L3_FN std::uint64_t before() const { return before_; }
  [[nodiscard]] L3_FN std::uint64_t after() const { return after_; }
  [[nodiscard]] L3_FN bool rounds() const { return rounds_; }

private:
  std::uint64_t before_ = 0; // bytes before rounding up
  std::uint64_t after_ = 0;  // bytes after it
  bool rounds_ = false;
};

struct look_back {
  static constexpr std::uint32_t window = 128; // tiles read at a time
  struct shared {
    std::uint64_t before[window]; // words of the previous tiles, the nearest first
    std::uint64_t end;
  };
};

/// Publishes `mine`, the length of tile t, finds where the tile's data ends, counted from the first
/// byte of the output, and publishes and returns that end. The caller must call sync() before it
/// uses `s` again.
template <block B>
[[nodiscard]] L3_FN std::uint64_t find_end(const B& b, look_back::shared& s, std::uint32_t t,
                                           position_word mine, column<std::uint64_t> positions) {
  for_each(b, 1, [&](std::uint32_t) { publish(b, &positions[t], mine.word()); });
  for (;;) {
    for_each(b, look_back::window, [&](std::uint32_t k) {
      s.before[k] = k < t ? observe(b, &positions[t - 1 - k]) : position_word::at(0).word();
    });
    b.sync();
    std::uint32_t k = 0;
    while (k < look_back::window && position_word(s.before[k]).is_relative()) ++k;
    if (k < look_back::window && position_word(s.before[k]).is_absolute()) {
      std::uint64_t end = 0;
      for (std::uint32_t n = k + 1; n > 0; --n) end = position_word(s.before[n - 1]).end(end);
      end = mine.end(end);
      for_each(b, 1,
               [&](std::uint32_t) { publish(b, &positions[t], position_word::at(end).word()); });
      return end;
    }
    give_way(b);
    b.sync();
  }
}

/// The form for one lane, which reads no more words than it needs, because they are in the cache
/// lines of other cores.
[[nodiscard]] inline std::uint64_t find_end(const solo_block& b, look_back::shared&,
                                            std::uint32_t t, position_word mine,
                                            column<std::uint64_t> positions) {
  publish(b, &positions[t], mine.word());
  position_step all(mine);
  for (std::uint32_t next = t; next > 0;) {
    const position_word seen(observe(b, &positions[next - 1]));
    if (!seen.is_known()) {
      give_way(b);
      continue;
    }
    all = position_step(seen).then(all);
    if (seen.is_absolute()) break;
    --next;
  }
  const std::uint64_t end = all.end(0);
  publish(b, &positions[t], position_word::at(end).word());
  return end;
}

} // namespace l3
