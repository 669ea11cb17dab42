// SPDX-License-Identifier: Apache-2.0
// The blocks of the spool as a source for a second forwarder: first the lanes of earlier processes,
// the oldest first, then the lane of this process. A lane keeps its session and numbers across a
// restart, so the receiver recognizes blocks that it already has. A block that was damaged on disk
// is sent empty, and the spool counts its events. Numbers missing in a lane are sent as empty
// blocks, too.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

#include "transport/accounting/counters.hpp"
#include "transport/outbox/block_source.hpp"
#include "transport/outbox/spool.hpp"

namespace l3 {

/// The outcome of a lane's events. Written by the forwarder's thread.
struct backlog_lane {
  block_identity identity;
  counter delivered; ///< stored by the receiver
};

class spool_backlog final : public block_source {
public:
  /// The spool must outlive it. `own`: the lane of this process. A thread that adds a block to it
  /// on disk rings the bell.
  spool_backlog(spool& disk, const block_identity& own);

  [[nodiscard]] lane_state lane() const override;
  [[nodiscard]] bool next_lane() override;
  [[nodiscard]] held_block hold(std::uint64_t sequence) override;
  void stored_up_to(std::uint64_t sequence, time_point now) override;

  // --- any thread ---

  [[nodiscard]] const backlog_lane& own() const { return own_; }
  /// The lanes of earlier processes, sent or not.
  [[nodiscard]] const std::deque<backlog_lane>& found() const { return found_; }
  /// Buffers of blocks that are being sent; each grows to the size of the largest ones.
  static constexpr std::size_t buffers = 8;

private:
  using buffer = std::vector<std::byte>;

  spool& disk_;
  backlog_lane own_;
  std::deque<backlog_lane> found_;
  std::size_t next_found_ = 0;
  backlog_lane* current_ = nullptr; ///< null: nothing to send
  std::uint64_t stored_ = 0;        ///< of the current lane
  std::mutex lock_;                 ///< guards the members below
  std::array<buffer, buffers> buffers_;
  std::vector<buffer*> unused_;
};

} // namespace l3
