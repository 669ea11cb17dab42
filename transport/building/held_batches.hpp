// SPDX-License-Identifier: Apache-2.0
// The batches that receivers hold: at most one being filled, and closed ones in which events still
// end. A closed batch is finished when its open events have ended or left it and no thread uses its
// memory. Finished batches go back to the pool in the order in which they were taken. Guarded by
// the event builder's lock, except events().
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>

#include "transport/building/batch_pool.hpp"
#include "transport/building/landing.hpp"

namespace l3 {

class held_batches {
public:
  held_batches(batch_pool& pool, std::uint32_t chunk_bytes)
      : pool_(pool), chunk_bytes_(chunk_bytes) {}

  /// The batch being filled, or nullptr.
  [[nodiscard]] batch_in_use* current() { return current_; }
  /// The current batch takes no further event.
  [[nodiscard]] bool current_is_full() const { return current_ == nullptr || current_->is_full(); }

  /// One is closed and not yet handed to the pool.
  [[nodiscard]] bool any_closed() const {
    return batches_.size() > (current_ != nullptr ? 1U : 0U);
  }

  /// A batch from the pool, not yet the current one; nullptr if there is none.
  [[nodiscard]] input_batch* try_take() { return pool_.try_take(); }
  /// Closes the current batch, if any, and goes on with `next`, if not nullptr.
  void move_to(input_batch* next, time_point now);

  /// The oldest closed batch that has open events and does not wait for them any longer: time is
  /// up, the batch after it has closed too, or no batch takes further events. nullptr: none.
  [[nodiscard]] batch_in_use* overdue(time_point now);

  void enter(batch_in_use& b) { ++b.users; }
  void leave(batch_in_use& b) { --b.users; }

  /// Whether take_finished() would give one.
  [[nodiscard]] bool has_finished() const {
    return !batches_.empty() && batches_.front().is_finished();
  }
  /// The next batch to submit; nullptr if there is none.
  [[nodiscard]] input_batch* take_finished();
  /// Hands the batch to the pool: without the lock, one after another.
  void submit(input_batch& batch);

  /// Every event admitted so far is in this batch or in an earlier one.
  [[nodiscard]] std::uint64_t last_serial() const;
  /// To be called when an event was written into one of these batches.
  void count_event() { ++events_; }
  /// Events in batches that are not submitted yet. Any thread.
  [[nodiscard]] std::uint64_t events() const { return events_; }

  /// All closed batches are done with: a batch that closes now would not wait.
  [[nodiscard]] bool idle() const { return !any_closed() && pool_.idle(); }

private:
  batch_pool& pool_;
  std::uint32_t chunk_bytes_;
  std::deque<batch_in_use> batches_; // in order of serial numbers; the current one is the last
  batch_in_use* current_ = nullptr;
  std::uint64_t closed_serial_ = 0;
  std::atomic<std::uint64_t> events_ = 0;
};

} // namespace l3
