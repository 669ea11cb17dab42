// SPDX-License-Identifier: Apache-2.0
// The source of a forwarder's blocks: the outbox's memory, or the spool on disk. A source has the
// blocks of one session at a time (a lane), numbered without gaps, and keeps each of them until the
// receiver has stored it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "transport/format/time.hpp"
#include "transport/store/block.hpp"
#include "transport/system/threads.hpp"

namespace l3 {

/// A sealed block. It stays in place as long as a copy of this exists, in any thread.
struct held_block {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> hold; ///< null: no block

  explicit operator bool() const { return hold != nullptr; }
};

struct lane_state {
  block_identity identity;  ///< session 0: nothing to send
  std::uint64_t sealed = 0; ///< the last available block
  std::uint64_t stored = 0; ///< the receiver has stored every block up to this one
  /// In a lane of an earlier process, the last block that it may have sent. Newer blocks may have
  /// been lost since, so a receiver that has them is right.
  std::uint64_t possibly_sent = 0;
};

/// The forwarder's thread calls it.
class block_source {
public:
  virtual ~block_source() = default;
  block_source(const block_source&) = delete;
  block_source& operator=(const block_source&) = delete;

  [[nodiscard]] virtual lane_state lane() const = 0;
  /// Call it when every block of the lane is stored: continues with the next lane, if there is one.
  /// Returns true if the lane has changed or there is none.
  [[nodiscard]] virtual bool next_lane() { return false; }
  /// Returns nothing if the block is already stored, not sealed yet, or cannot be held now: then
  /// try again later. A block may be held several times.
  [[nodiscard]] virtual held_block hold(std::uint64_t sequence) = 0;
  /// Call it when the receiver has stored every block up to this one. Old and impossible numbers
  /// are ignored.
  virtual void stored_up_to(std::uint64_t sequence, time_point now) = 0;

  /// Any thread rings it when there is work.
  [[nodiscard]] const wake_event& bell() const { return bell_; }

protected:
  block_source() = default;

private:
  wake_event bell_;
};

} // namespace l3
