// SPDX-License-Identifier: Apache-2.0
// The source of the batches that receivers fill and submit. Receivers know neither where a batch's
// memory comes from nor how it is processed.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "transport/format/input_batch.hpp"
#include "transport/format/time.hpp"

namespace l3 {

/// The receivers' view of the frames. Thread-safe. Receivers hold at most two batches, one filling
/// and one waiting for its last events, besides those that a thread still writes. They submit
/// batches in the order of their serial numbers.
class batch_pool {
public:
  virtual ~batch_pool() = default;
  /// Returns an empty batch, or nullptr if every frame is busy. Never blocks.
  virtual input_batch* try_take() = 0;
  /// Hands the batch to the compute side. It may be empty: its serial number then counts as done.
  virtual void submit(input_batch& batch) = 0;
  /// Whether every submitted batch is done, so that the next one would be taken at once.
  [[nodiscard]] virtual bool idle() const = 0;
};

// The batches that receivers hold: at most one being filled, and closed ones in which events still
// end. A closed batch is finished when its open events have ended or left it and no ring has slots
// of it. Finished batches return to the pool in the order in which they were taken.
//
// The memory of a batch is divided into slots of one chunk each. A receive thread has a ring of
// them (landing_ring.hpp) and passes their addresses to recvmmsg. A slot whose datagram is kept
// becomes a piece of a fragment in place; a slot whose datagram was a trailer, garbage or a
// duplicate is used again. Short last chunks are copied into shared slots. Only the owner of the
// event builder uses these classes, except the bytes of the slots in a ring, and events().

/// The memory of one batch, divided into slots and regions.
class landing_area {
public:
  landing_area(input_batch& batch, std::uint32_t chunk_bytes)
      : slot_bytes_(static_cast<std::uint32_t>(region_bytes(chunk_bytes))), batch_(&batch) {}

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

  /// Contiguous room of any size, for parked fragments and event records.
  [[nodiscard]] std::optional<piece_offset> region(std::size_t bytes) {
    const std::size_t room = region_bytes(bytes);
    if (batch_->bytes.size() - batch_->used_bytes < room) return std::nullopt;
    const auto offset = static_cast<piece_offset>(batch_->used_bytes);
    batch_->used_bytes += room;
    return offset;
  }
  /// Bytes that a region of that size occupies.
  [[nodiscard]] static constexpr std::size_t region_bytes(std::size_t bytes) {
    return round_up(bytes, cache_line);
  }

private:
  static constexpr std::size_t cache_line = 64;

  std::uint32_t slot_bytes_;
  input_batch* batch_;
  std::vector<piece_offset> free_;
  piece_offset gather_at_ = 0;
  piece_offset gather_end_ = 0;
};

/// A batch while receivers fill it.
struct batch_in_use {
  batch_in_use(input_batch& b, std::uint32_t chunk_bytes) : batch(&b), landing(b, chunk_bytes) {}

  input_batch* batch;
  landing_area landing;
  std::uint32_t reserved = 0; ///< events in it, and events with room reserved in it
  std::uint32_t open = 0;     ///< events and records with room in it that have not ended
  std::uint32_t in_rings = 0; ///< slots of it into which the kernel may write
  bool closed = false;        ///< no event begins in it; submitted when `open` and `in_rings` are 0
  time_point waits_until = never; ///< for its open events, once it is closed
  time_point waits_at_most{};     ///< even while their datagrams come
  time_point first_admitted{};    ///< when its oldest event was admitted

  /// A closed batch waits longer for events that still receive data.
  void wait_from(time_point now) {
    constexpr auto patience = std::chrono::milliseconds(3);
    waits_until = std::min(now + patience, waits_at_most);
  }
  [[nodiscard]] bool is_finished() const { return closed && open == 0 && in_rings == 0; }
  /// Whether no further event can begin in it.
  [[nodiscard]] bool is_full() const { return reserved == batch->events.size(); }
  /// Whether an event with this much contiguous room fits.
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
  /// Whether the current batch accepts no further event.
  [[nodiscard]] bool current_is_full() const { return current_ == nullptr || current_->is_full(); }

  /// Whether a batch is closed but not yet returned to the pool.
  [[nodiscard]] bool any_closed() const {
    return batches_.size() > (current_ != nullptr ? 1U : 0U);
  }

  /// Takes a batch from the pool, without making it current; nullptr if there is none.
  [[nodiscard]] input_batch* try_take() { return pool_.try_take(); }
  /// Closes the current batch, if any, and continues with `next`, unless it is nullptr.
  void move_to(input_batch* next, time_point now);

  /// The oldest closed batch with open events that waits no longer for them: its time is up, the
  /// next batch has closed too, or no batch accepts events. nullptr if there is none.
  [[nodiscard]] batch_in_use* overdue(time_point now);

  /// Returns the finished batches to the pool.
  void submit_finished();

  /// Serial number of a batch such that it and the earlier ones contain every event admitted so
  /// far.
  [[nodiscard]] std::uint64_t last_serial() const;
  /// Call it when an event was written into one of these batches.
  void count_event() { ++events_; }
  /// Events in unsubmitted batches. Any thread.
  [[nodiscard]] std::uint64_t events() const { return events_; }

  /// Whether all closed batches are done, so that a batch that closes now would not wait.
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
