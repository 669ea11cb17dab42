// SPDX-License-Identifier: Apache-2.0
// Where a forwarder gets the blocks that it sends: the outbox's memory, or the spool on disk. A
// source has the blocks of one session at a time (a lane), numbered without gaps, and keeps each
// of them until it is told that the receiver has stored it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "transport/format/time.hpp"
#include "transport/store/block.hpp"
#include "transport/system/wake_event.hpp"

namespace l3 {

/// A sealed block. It stays where it is as long as a copy of this lives, in any thread.
struct held_block {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> hold; ///< null: there is no block

  explicit operator bool() const { return hold != nullptr; }
};

struct lane_state {
  block_identity identity;  ///< session 0: there is nothing to send
  std::uint64_t sealed = 0; ///< the last block that is there
  std::uint64_t stored = 0; ///< the receiver has stored every block up to this one
  /// Of a lane that comes from an earlier process, the last block that may have been sent by it.
  /// Its newest blocks may have been lost since: a receiver that has more of them is right.
  std::uint64_t possibly_sent = 0;
};

/// The forwarder's thread calls it.
class block_source {
public:
  virtual ~block_source() = default;
  block_source(const block_source&) = delete;
  block_source& operator=(const block_source&) = delete;

  [[nodiscard]] virtual lane_state lane() const = 0;
  /// Every block of the lane is stored: goes on with another lane, if there is one. True: the lane
  /// is now another, or none.
  [[nodiscard]] virtual bool next_lane() { return false; }
  /// Nothing if the block is stored already, not sealed yet, or cannot be held now: then ask again
  /// a little later. One block may be held several times.
  [[nodiscard]] virtual held_block hold(std::uint64_t sequence) = 0;
  /// The receiver has stored every block up to this one. Numbers that are not news, or not
  /// possible, are ignored.
  virtual void stored_up_to(std::uint64_t sequence, time_point now) = 0;

  /// Any thread rings it when there is something to do.
  [[nodiscard]] const wake_event& bell() const { return bell_; }

protected:
  block_source() = default;

private:
  wake_event bell_;
};

} // namespace l3
