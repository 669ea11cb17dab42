// SPDX-License-Identifier: Apache-2.0
// How many blocks of a session there are, and which numbers they have: what a store should hold,
// what it holds, and what it has lost.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>

#include "transport/format/block.hpp"

namespace l3 {

/// Blocks of one session.
struct block_tally {
  std::uint64_t first = 0; ///< the lowest number; 0: there is none
  std::uint64_t last = 0;  ///< the highest
  std::uint64_t blocks = 0;
  std::uint64_t events = 0;
  std::uint64_t bytes = 0;    ///< of packed events
  std::uint64_t repeated = 0; ///< events left out, because another session has stored them

  friend bool operator==(const block_tally&, const block_tally&) = default;

  /// Every number from the first to the last. Else it is known how many there are, and between
  /// which.
  [[nodiscard]] bool has_each_number() const { return blocks == last - first + 1; }
  [[nodiscard]] bool may_have(std::uint64_t number) const {
    return first <= number && number <= last;
  }

  void add(const block_header& block) {
    add({block.sequence, block.sequence, 1, block.events,
         std::uint64_t{block.payload_bytes} - block.settings_bytes, block.repeated});
  }
  void add(const block_tally& other) {
    if (other.blocks == 0) return;
    first = blocks == 0 ? other.first : std::min(first, other.first);
    last = std::max(last, other.last);
    blocks += other.blocks;
    events += other.events;
    bytes += other.bytes;
    repeated += other.repeated;
  }
};

/// What is in `was` and not in `is`. Which numbers these are is known as far as the ends tell: all
/// of them are from `first` to `last`.
[[nodiscard]] inline block_tally less(const block_tally& was, const block_tally& is) {
  if (is.blocks == 0) return was;
  if (is.blocks >= was.blocks) return {};
  const auto minus = [](std::uint64_t a, std::uint64_t b) { return a - std::min(a, b); };
  block_tally lost{was.first,
                   was.last,
                   was.blocks - is.blocks,
                   minus(was.events, is.events),
                   minus(was.bytes, is.bytes),
                   minus(was.repeated, is.repeated)};
  const bool ahead = is.first > was.first;
  const bool behind = is.last < was.last;
  if (ahead == behind || !is.has_each_number()) return lost;
  if (behind && was.last - is.last >= lost.blocks) lost.first = is.last + 1;
  if (ahead && is.first - was.first >= lost.blocks) lost.last = is.first - 1;
  return lost;
}

/// The same of one place, where `is` counts only blocks that `was` may have: as many blocks with
/// other sums are not those that were there. It is not known which of them was replaced.
[[nodiscard]] inline block_tally missing_from(const block_tally& was, const block_tally& is) {
  const auto sums = [](const block_tally& t) { return std::tuple(t.events, t.bytes, t.repeated); };
  if (!was.has_each_number() || is.blocks != was.blocks || sums(was) == sums(is))
    return less(was, is);
  const auto minus = [](std::uint64_t a, std::uint64_t b) { return a - std::min(a, b); };
  return {was.first,
          was.last,
          1,
          minus(was.events, is.events),
          minus(was.bytes, is.bytes),
          minus(was.repeated, is.repeated)};
}

/// Of each session.
using session_tallies = std::map<std::uint64_t, block_tally>;

inline void add(session_tallies& to, const session_tallies& more) {
  for (const auto& [session, blocks] : more) to[session].add(blocks);
}

[[nodiscard]] inline session_tallies missing_from(const session_tallies& was,
                                                  const session_tallies& is) {
  session_tallies lost;
  for (const auto& [session, blocks] : was) {
    const auto found = is.find(session);
    const block_tally gone =
        missing_from(blocks, found == is.end() ? block_tally() : found->second);
    if (gone.blocks != 0) lost[session] = gone;
  }
  return lost;
}

[[nodiscard]] inline session_tallies less(const session_tallies& was, const session_tallies& is) {
  session_tallies lost;
  for (const auto& [session, blocks] : was) {
    const auto found = is.find(session);
    const block_tally gone = less(blocks, found == is.end() ? block_tally() : found->second);
    if (gone.blocks != 0) lost[session] = gone;
  }
  return lost;
}

} // namespace l3
