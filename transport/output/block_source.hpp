// SPDX-License-Identifier: Apache-2.0
// Where a forwarder gets the blocks that it sends: the outbox's memory, or the spool on disk. A
// source has the blocks of one session at a time (a lane), numbered without gaps, and keeps each
// of them until it is told that the receiver has stored it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "transport/store/block.hpp"

namespace l3 {

/// Keeps a block where it is.
class block_hold {
public:
  virtual void release() noexcept = 0; ///< any thread

protected:
  ~block_hold() = default;
};

class block_source {
public:
  virtual ~block_source() = default;
  block_source(const block_source&) = delete;
  block_source& operator=(const block_source&) = delete;

  // The forwarder's thread.

  /// Of the lane; session 0: there is nothing to send.
  [[nodiscard]] virtual block_identity identity() const = 0;
  /// Every block of the lane is stored: goes on with another lane, if there is one. True: identity
  /// and numbers are now another's, or no lane's.
  [[nodiscard]] virtual bool next_lane() { return false; }

  /// The lane comes from an earlier process, and its newest blocks may have been lost since: a
  /// receiver that has more of them is right.
  [[nodiscard]] virtual bool is_remainder() const { return false; }

  /// A sealed block, which stays where it is until its hold is released.
  struct held_block {
    std::span<const std::byte> bytes;
    block_hold* hold = nullptr;
  };
  /// Nothing if the block is stored already, not sealed yet, or cannot be held now: then ask again
  /// a little later. One block may be held several times.
  [[nodiscard]] virtual std::optional<held_block> hold(std::uint64_t sequence) = 0;
  [[nodiscard]] virtual bool is_held(std::uint64_t sequence) const = 0;
  /// The receiver has stored every block up to this one (`now` as steady_now()). Numbers that are
  /// not news, or not possible, are ignored.
  virtual void stored_up_to(std::uint64_t sequence, std::uint64_t now) = 0;
  /// Becomes readable when there is something to do or wake() was called; for poll.
  [[nodiscard]] virtual int wake_descriptor() const = 0;
  virtual void clear_wake() const = 0;

  // Any thread.

  virtual void wake() const = 0;
  [[nodiscard]] virtual std::uint64_t last_sealed() const = 0;
  [[nodiscard]] virtual std::uint64_t last_stored() const = 0;
  [[nodiscard]] std::uint64_t blocks_waiting() const {
    const std::uint64_t stored = last_stored(); // first, so that the difference is never negative
    return last_sealed() - stored;
  }

protected:
  block_source() = default;
};

} // namespace l3
