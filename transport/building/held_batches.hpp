// SPDX-License-Identifier: Apache-2.0
// The batches that receivers hold: at most one being filled, and closed ones in which events still
// end. A closed batch is finished when its open events have ended or left it and no thread uses its
// memory. Finished batches go back to the pool in the order in which they were taken.
//
// The memory of a batch is dealt out in slots of one chunk each; a receive thread holds a strip of
// them (landing_strip.hpp) and hands their addresses to recvmmsg. A slot whose datagram is kept
// becomes a piece of a fragment in place; a slot whose datagram was a trailer, garbage or a
// duplicate takes the next one. Short last chunks share slots, into which they are copied. Guarded
// by the event builder's lock, except the bytes of the slots in a strip, and events().
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "transport/building/batch_pool.hpp"
#include "transport/format/input_batch.hpp"
#include "transport/format/time.hpp"

namespace l3 {

/// The memory of one batch, dealt out.
class landing_area {
public:
  explicit landing_area(std::uint32_t chunk_bytes)
      : slot_bytes_(static_cast<std::uint32_t>(round_up(chunk_bytes, cache_line))) {}

  void open(input_batch& batch);

  /// Room for one chunk; nothing if the batch is full.
  [[nodiscard]] std::optional<piece_offset> slot() {
    if (free_.empty()) return region(slot_bytes_);
    const auto offset = free_.back();
    free_.pop_back();
    return offset;
  }
  [[nodiscard]] bool has_slot() const {
    return !free_.empty() || batch_->bytes.size() - batch_->used_bytes >= slot_bytes_;
  }
  void give_back(piece_offset slot) { free_.push_back(slot); }

  /// Room for a short chunk beside others.
  [[nodiscard]] bool is_short(std::uint32_t bytes) const { return bytes <= slot_bytes_ / 4; }
  [[nodiscard]] std::optional<piece_offset> gather(std::uint32_t bytes);

  /// Contiguous room of any size: for parked fragments and event records.
  [[nodiscard]] std::optional<piece_offset> region(std::size_t bytes) {
    const std::size_t room = region_bytes(bytes);
    if (batch_->bytes.size() - batch_->used_bytes < room) return std::nullopt;
    const auto offset = static_cast<piece_offset>(batch_->used_bytes);
    batch_->used_bytes += room;
    return offset;
  }
  /// Bytes that a region of that size takes up.
  [[nodiscard]] static constexpr std::size_t region_bytes(std::size_t bytes) {
    return round_up(bytes, cache_line);
  }

  /// As many as there were at first.
  [[nodiscard]] std::size_t slots() const { return slots_; }

private:
  static constexpr std::size_t cache_line = 64;

  void fetch(std::uint32_t bytes) const;

  std::uint32_t slot_bytes_;
  std::size_t slots_ = 0;
  input_batch* batch_ = nullptr;
  std::vector<piece_offset> free_;
  piece_offset gather_at_ = 0;
  piece_offset gather_end_ = 0;
};

/// A batch while receivers fill it.
struct batch_in_use {
  batch_in_use(input_batch& b, std::uint32_t chunk_bytes) : batch(&b), landing(chunk_bytes) {
    landing.open(b);
  }

  input_batch* batch;
  landing_area landing;
  std::uint32_t reserved = 0; ///< events in it, and events that have room in it
  std::uint32_t open = 0;     ///< events and records that have room in it and have not ended
  std::uint32_t users = 0;    ///< threads that may be writing into it, or reading it, now
  bool closed = false; ///< no event begins in it; submitted when the open ones and users are gone
  time_point waits_until = never; ///< for its open events, once it is closed
  time_point waits_at_most{};     ///< however long their datagrams come
  time_point first_admitted{};    ///< when its oldest event was admitted

  /// A closed batch waits longer for events of which something still comes.
  void wait_from(time_point now) {
    constexpr auto patience = std::chrono::milliseconds(3);
    waits_until = std::min(now + patience, waits_at_most);
  }
  [[nodiscard]] bool is_finished() const { return closed && open == 0 && users == 0; }
  /// No further event can begin in it.
  [[nodiscard]] bool is_full() const { return reserved == batch->events.size(); }
  /// An event of so many bytes, of contiguous room, fits.
  [[nodiscard]] bool has_room(std::size_t bytes) const {
    return !is_full() && batch->bytes.size() - batch->used_bytes >= bytes;
  }
};

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
