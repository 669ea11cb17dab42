// SPDX-License-Identifier: Apache-2.0
// What a store holds of each session: which blocks a daemon may be told of, sums for the ledger,
// and where the session's settings lie. What is not committed yet can be taken back.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "transport/format/block.hpp"
#include "transport/store/block_tally.hpp"
#include "transport/store/store_manifest.hpp"
#include "transport/store/stored_numbers.hpp"

namespace l3 {

/// What a store holds of one session.
struct stored_session {
  stored_numbers numbers;
  std::uint32_t run = 0;
  std::uint32_t node = 0;
  std::uint64_t blocks = 0;
  std::uint64_t events = 0;
  std::uint64_t bytes = 0;         ///< of packed events
  std::uint64_t repeated = 0;      ///< events left out, because another session has stored them
  block_tally gone;                ///< since the start: what was in the store, and is not any more
  block_tally found;               ///< since the start: what had gone before, and is back
  std::uint64_t file = 0;          ///< of its last block: they rise with its numbers
  bool mixed = false;              ///< it changed its run or node: it has no file of either
  std::uint64_t settings_file = 0; ///< where its latest block with settings lies; 0: nowhere
  std::uint64_t settings_offset = 0;
};

class stored_sessions {
public:
  [[nodiscard]] const std::map<std::uint64_t, stored_session>& all() const { return sessions_; }
  /// Null: the store had no block of it since the start.
  [[nodiscard]] const stored_session* find(std::uint64_t session) const;
  /// Of a block that is there.
  [[nodiscard]] stored_session& of(std::uint64_t session) { return sessions_[session]; }

  // --- what was found ---

  void add_number(const block_header& block, bool behind_damage);
  void add_events(const block_header& block);

  // --- what is written ---

  /// A block that may be taken back.
  [[nodiscard]] stored_session& add(const block_header& block);
  [[nodiscard]] bool has_uncommitted() const { return !uncommitted_.empty(); }
  void commit() { uncommitted_.clear(); }
  void take_back();

  // --- what other programs did ---

  void leave_out(const session_tallies& gone);
  void take_up(const listed_blocks& back);

private:
  std::map<std::uint64_t, stored_session> sessions_;
  std::map<std::uint64_t, stored_session>
      uncommitted_; ///< the sessions of new blocks, as they were before these
};

} // namespace l3
