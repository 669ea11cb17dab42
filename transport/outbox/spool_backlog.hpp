// SPDX-License-Identifier: Apache-2.0
// What lies in the spool, as a source of blocks for a forwarder of its own: first the lanes that
// earlier processes left behind, the oldest first, then the lane to which this process adds. A lane
// keeps its session and its numbers across a restart, so the receiver recognizes every block that
// it has already. A block that was damaged on disk is sent empty: what was in it is counted, by the
// spool. Numbers that a lane leaves out are sent as empty blocks, too.
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

/// What became of a lane's events. Written by the forwarder's thread.
struct backlog_lane {
  block_identity identity;
  counter delivered; ///< stored by the receiver
};

class spool_backlog final : public block_source {
public:
  /// The spool must outlive it. `own`: the lane of this process; a thread that adds a block to it
  /// on the disk rings the bell.
  spool_backlog(spool& disk, const block_identity& own);

  [[nodiscard]] lane_state lane() const override;
  [[nodiscard]] bool next_lane() override;
  [[nodiscard]] held_block hold(std::uint64_t sequence) override;
  void stored_up_to(std::uint64_t sequence, time_point now) override;

  // --- any thread ---

  [[nodiscard]] const backlog_lane& own() const { return own_; }
  /// The lanes that earlier processes left, whether their turn has come or not.
  [[nodiscard]] const std::deque<backlog_lane>& found() const { return found_; }
  /// Memory for blocks on their way to the link; each grows to the size of the largest ones.
  static constexpr std::size_t buffers = 8;

private:
  using buffer = std::vector<std::byte>;

  spool& disk_;
  backlog_lane own_;
  std::deque<backlog_lane> found_;
  std::size_t next_found_ = 0;
  backlog_lane* current_ = nullptr; ///< null: there is nothing to send
  std::uint64_t stored_ = 0;        ///< of the current lane
  std::mutex lock_;                 ///< guards what follows
  std::array<buffer, buffers> buffers_;
  std::vector<buffer*> unused_;
};

} // namespace l3
