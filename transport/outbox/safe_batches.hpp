// SPDX-License-Identifier: Apache-2.0
// Finds the safe batches, whose senders may forget their events: each event is stored by the
// receiver or on disk, was rejected, or was shed and counted. Events leave in blocks; a block is
// secured when the receiver or the disk has stored it, in any order. A batch is safe when every
// block sealed up to its last event is secured. One thread seals, others secure.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>

namespace l3 {

class safe_batches {
public:
  using ticket = std::uint64_t;

  /// Call it from the sealing thread when a block was sealed. `last_batch`: the last batch that
  /// ends in it; 0 if none does.
  [[nodiscard]] ticket sealed(std::uint64_t last_batch) {
    const std::lock_guard guard(lock_);
    blocks_.push_back({last_batch, false});
    return first_ + blocks_.size() - 1;
  }

  /// Call it from the sealing thread when a batch ended and all of its events are in sealed blocks,
  /// or none were kept.
  void batch_done(std::uint64_t serial) {
    const std::lock_guard guard(lock_);
    if (blocks_.empty()) {
      safe_.store(serial, std::memory_order_release);
    } else {
      blocks_.back().last_batch = serial;
    }
  }

  /// Marks the block as secured. Any thread; repeated calls have no effect.
  void secured(ticket which) {
    const std::lock_guard guard(lock_);
    if (which < first_) return;
    blocks_[which - first_].secured = true;
    for (; !blocks_.empty() && blocks_.front().secured; blocks_.pop_front(), ++first_) {
      if (const auto batch = blocks_.front().last_batch; batch != 0)
        safe_.store(batch, std::memory_order_release);
    }
  }

  /// The last batch such that it and all earlier ones are safe. Any thread.
  [[nodiscard]] std::uint64_t up_to() const { return safe_.load(std::memory_order_acquire); }

private:
  struct block {
    std::uint64_t last_batch = 0;
    bool secured = false;
  };

  std::mutex lock_;
  std::deque<block> blocks_; ///< sealed, from the first unsecured one; limited by the outbox
  ticket first_ = 0;         ///< number of blocks_.front()
  std::atomic<std::uint64_t> safe_{0};
};

} // namespace l3
