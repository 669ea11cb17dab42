// SPDX-License-Identifier: Apache-2.0
// Where a tile's data ends, found by the block that made it while all other blocks do the same.
// Each tells how long its tile is, and looks back over what those before it have told until it
// comes to one that knew its own end; then it tells its own.
//
// Nothing but these words is handed over: they need not be ordered with any other access. A device
// has a form of its own, in which a warp looks at 32 tiles at a time and folds them as steps.
#pragma once

#include <cstdint>

#include "gpu/executors/atomics.hpp"
#include "gpu/executors/block.hpp"
#include "gpu/executors/solo.hpp"
#include "gpu/memory/column.hpp"
#include "selection/packing/layout.hpp"
#include "transport/format/endian.hpp"

namespace l3 {

/// What is known of where a tile's data ends, in one word, so that it is told in one store.
class position_word {
public:
  position_word() = default;
  L3_FN explicit position_word(std::uint64_t word) : word_(word) {}

  /// It ends that many bytes behind the end of the one before it: behind the multiple of 8 that
  /// follows it, if the tile is the first of its event.
  [[nodiscard]] L3_FN static position_word after_previous(std::uint64_t bytes, bool first) {
    return position_word(bytes << shift | (first ? first_bit : 0) | relative_bit);
  }
  /// It ends there.
  [[nodiscard]] L3_FN static position_word at(std::uint64_t end) {
    return position_word(end << shift | absolute_bit);
  }

  [[nodiscard]] L3_FN bool is_relative() const { return (word_ & relative_bit) != 0; }
  [[nodiscard]] L3_FN bool is_absolute() const { return (word_ & absolute_bit) != 0; }
  [[nodiscard]] L3_FN bool is_known() const { return is_relative() || is_absolute(); }
  /// Whether it begins at a multiple of 8.
  [[nodiscard]] L3_FN bool is_first() const { return (word_ & first_bit) != 0; }
  /// Of the tile, or up to its end.
  [[nodiscard]] L3_FN std::uint64_t bytes() const { return word_ >> shift; }
  [[nodiscard]] L3_FN std::uint64_t word() const { return word_; }

  /// Where it ends, if the one before it ends at `previous`.
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

/// From the end of one tile to the end of another, over all between them. Two steps, one after the
/// other, are again one, in whatever order they are put together.
class position_step {
public:
  /// The step that goes nowhere.
  position_step() = default;
  /// Over one tile; over one that knows its end: from 0.
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
  std::uint64_t before_ = 0; // to be added before the step rounds up
  std::uint64_t after_ = 0;  // and behind that
  bool rounds_ = false;
};

struct look_back {
  static constexpr std::uint32_t window = 128; // tiles that are looked at in one go
  struct shared {
    std::uint64_t before[window]; // this tile: those nearest to it first
    std::uint64_t end;
  };
};

/// Where the data of tile t ends, counted from the first byte of all, and tells it. `mine` is its
/// length. The next sync() must come before `s` is used again.
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

/// One lane looks no further back than it has to: the words are other cores' cache lines.
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

#if defined(__CUDACC__)
#include "selection/packing/look_back.cuh" // here, so that no device source can forget it
#endif
