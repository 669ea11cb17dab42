// SPDX-License-Identifier: Apache-2.0
// What a store holds of each session: which blocks a daemon may be told of, sums for the ledger,
// and where the session's settings lie. What is not committed yet can be taken back.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>

#include "transport/format/block.hpp"

namespace l3 {

/// Which blocks of a session a store holds, as far as its daemon has to know. A power cut may have
/// left a block whole on the disk and one before it damaged: the daemon still has both, and must
/// not be told that the later one is the last that is stored, or it would let the earlier go.
/// Blocks behind such damage therefore wait here until nothing before them is missing: because it
/// has come again, or because the daemon itself says that it has no need of it.
class stored_numbers {
public:
  /// The last number up to which nothing is missing, for a daemon whose first block is `first`:
  /// what comes before that one was stored, and perhaps damaged since.
  [[nodiscard]] std::uint64_t last(std::uint64_t first = 0) const {
    const auto behind = waiting_.upper_bound(first);
    return behind == waiting_.begin() ? last_ : std::prev(behind)->second;
  }

  /// Is stored, and so is what comes before it, here or elsewhere.
  void add(std::uint64_t number) {
    last_ = std::max(last_, number);
    while (!waiting_.empty() && waiting_.begin()->first - 1 <= last_) {
      last_ = std::max(last_, waiting_.begin()->second);
      waiting_.erase(waiting_.begin());
    }
  }

  /// The block is stored. It is unknown which blocks the damage before it took away.
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
  /// First and last numbers of stretches, rising, all above last_ + 1. Between two of them a number
  /// is missing.
  std::map<std::uint64_t, std::uint64_t> waiting_;
};

/// What a store holds of one session.
struct stored_session {
  stored_numbers numbers;
  std::uint32_t run = 0;
  std::uint32_t node = 0;
  std::uint64_t blocks = 0;
  std::uint64_t events = 0;
  std::uint64_t bytes = 0;         ///< of packed events
  std::uint64_t repeated = 0;      ///< events left out, because another session has stored them
  std::uint64_t file = 0;          ///< of its last block: they rise with its numbers
  bool mixed = false;              ///< it changed its run or node: it has no file of either
  std::uint64_t settings_file = 0; ///< where its latest block with settings lies; 0: nowhere
  std::uint64_t settings_offset = 0;
};

class stored_sessions {
public:
  [[nodiscard]] const std::map<std::uint64_t, stored_session>& all() const { return sessions_; }
  /// Null: the store has no block of it.
  [[nodiscard]] const stored_session* find(std::uint64_t session) const;
  /// A block that a start has found.
  stored_session& add_found(const block_header& block, bool behind_damage);
  /// A block that may be taken back.
  stored_session& add(const block_header& block);
  [[nodiscard]] bool has_uncommitted() const { return !uncommitted_.empty(); }
  void commit() { uncommitted_.clear(); }
  void take_back();

private:
  std::map<std::uint64_t, stored_session> sessions_;
  std::map<std::uint64_t, stored_session>
      uncommitted_; ///< the sessions of new blocks, as they were before these
};

} // namespace l3
