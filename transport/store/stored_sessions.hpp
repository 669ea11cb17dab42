// SPDX-License-Identifier: Apache-2.0
// A store's knowledge of each session: which blocks may be acknowledged, sums for the ledger, and
// the place of the session's settings. Uncommitted changes can be taken back.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>

#include "transport/format/block.hpp"

namespace l3 {

/// The stored blocks of a session that its daemon may be told about. A power cut may have left a
/// whole block after a damaged one. The daemon still has both. If it were told that the later one
/// is the last stored, it would drop the earlier. So blocks after such damage wait here until each
/// missing block has come again, or the daemon says that it no longer has that block.
class stored_numbers {
public:
  /// The last number without a missing one before it. Blocks before `first`, the daemon's first,
  /// were stored earlier and may be damaged since.
  [[nodiscard]] std::uint64_t last(std::uint64_t first = 0) const {
    const auto behind = waiting_.upper_bound(first);
    return behind == waiting_.begin() ? last_ : std::prev(behind)->second;
  }

  /// The block is stored, and all earlier ones are, here or elsewhere.
  void add(std::uint64_t number) {
    last_ = std::max(last_, number);
    while (!waiting_.empty() && waiting_.begin()->first - 1 <= last_) {
      last_ = std::max(last_, waiting_.begin()->second);
      waiting_.erase(waiting_.begin());
    }
  }

  /// The block is stored, but it is unknown which blocks the damage before it took.
  void add_behind_damage(std::uint64_t number) {
    if (number <= last_ || number - 1 == last_) return add(number);
    const auto next = waiting_.upper_bound(number);
    const bool goes_on = next != waiting_.begin() && number - 1 <= std::prev(next)->second;
    const auto here = goes_on ? std::prev(next) : waiting_.emplace_hint(next, number, number);
    here->second = std::max(here->second, number);
    if (next != waiting_.end() && next->first - 1 == here->second) {
      here->second = next->second;
      waiting_.erase(next);
    }
  }

private:
  std::uint64_t last_ = 0;
  /// First and last numbers of ranges above last_ + 1, sorted. Numbers between two ranges are
  /// missing.
  std::map<std::uint64_t, std::uint64_t> waiting_;
};

/// A store's knowledge of one session.
struct stored_session {
  stored_numbers numbers;
  std::uint32_t run = 0;
  std::uint32_t node = 0;
  std::uint64_t blocks = 0;
  std::uint64_t events = 0;
  std::uint64_t bytes = 0;         ///< of packed events
  std::uint64_t repeated = 0;      ///< events left out because another session had stored them
  std::uint64_t file = 0;          ///< of its last block; increases with the block numbers
  std::uint64_t settings_file = 0; ///< with its latest block with settings; 0: none
  std::uint64_t settings_offset = 0;
};

class stored_sessions {
public:
  [[nodiscard]] const std::map<std::uint64_t, stored_session>& all() const { return sessions_; }
  /// Returns null if the store has no block of the session.
  [[nodiscard]] const stored_session* find(std::uint64_t session) const;
  /// Adds a block found at the start.
  stored_session& add_found(const block_header& block, bool behind_damage);
  /// Adds a block that may be taken back.
  stored_session& add(const block_header& block);
  [[nodiscard]] bool has_uncommitted() const { return !uncommitted_.empty(); }
  void commit() { uncommitted_.clear(); }
  void take_back();

private:
  std::map<std::uint64_t, stored_session> sessions_;
  std::map<std::uint64_t, stored_session>
      uncommitted_; ///< the sessions of new blocks, in their state before these
};

} // namespace l3
