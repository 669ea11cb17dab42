// SPDX-License-Identifier: Apache-2.0
// Which batches of events are safe, so that their senders may forget them: each event of a safe
// batch is stored by the receiver, on disk, rejected, or was shed and counted. Events leave in
// blocks; a block is secured when the receiver has stored it or it lies on disk, in any order. A
// batch is safe when every block sealed up to its last event is secured. One thread seals, others
// secure.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>

namespace l3 {

class safe_batches {
public:
  using ticket = std::uint64_t;

  /// A block was sealed; `last_batch` is the last one that ends in it, 0: none does. The sealing
  /// thread.
  [[nodiscard]] ticket sealed(std::uint64_t last_batch) {
    const std::lock_guard guard(lock_);
    blocks_.push_back({last_batch, false});
    return first_ + blocks_.size() - 1;
  }

  /// A batch ended with all of its events in sealed blocks, or in none. The sealing thread.
  void batch_done(std::uint64_t serial) {
    const std::lock_guard guard(lock_);
    if (blocks_.empty()) {
      safe_.store(serial, std::memory_order_release);
    } else {
      blocks_.back().last_batch = serial;
    }
  }

  /// The block needs its sender no more. Any thread; a second time changes nothing.
  void secured(ticket which) {
    const std::lock_guard guard(lock_);
    if (which < first_) return;
    blocks_[which - first_].secured = true;
    for (; !blocks_.empty() && blocks_.front().secured; blocks_.pop_front(), ++first_) {
      if (const auto batch = blocks_.front().last_batch; batch != 0)
        safe_.store(batch, std::memory_order_release);
    }
  }

  /// Every batch with a serial number up to this one is safe. Any thread.
  [[nodiscard]] std::uint64_t up_to() const { return safe_.load(std::memory_order_acquire); }

private:
  struct block {
    std::uint64_t last_batch = 0;
    bool secured = false;
  };

  std::mutex lock_;
  std::deque<block> blocks_; ///< sealed, from the first that is not secured; no more than there is
                             ///< room for blocks
  ticket first_ = 0;         ///< of blocks_.front()
  std::atomic<std::uint64_t> safe_{0};
};

} // namespace l3
