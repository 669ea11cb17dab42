// SPDX-License-Identifier: Apache-2.0
// The outbox owns every packed event from the moment a frame gives it up until the receiver has
// stored it. It is one ring of memory, allocated and touched at the start, in which output blocks
// (docs/formats.md, section 6) are built, sent from and, if need be, sent again; when it is full it
// says so, and grows never.
//
// The drain thread appends events and seals blocks; the forwarder thread sends them and reports
// what is stored. The memory of a block is used again when the block is stored and nobody holds it
// any more: ZeroMQ sends from it directly.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "transport/accounting/counters.hpp"
#include "transport/accounting/histogram.hpp"
#include "transport/format/block.hpp"
#include "transport/output/file_descriptor.hpp"
#include "transport/output/settings.hpp"

namespace l3 {

/// What all blocks of one daemon have in common.
struct block_identity {
  std::uint64_t session = 0; ///< see random_session()
  std::uint32_t run = 0;
  std::uint32_t node = 0;
};

/// Never 0, and never the same twice as far as chance goes.
[[nodiscard]] std::uint64_t random_session();

/// No block may be set larger: a receiver refuses messages that could not be blocks.
inline constexpr byte_size largest_block_setting = mebibytes(32);

class outbox {
  struct slot;

public:
  /// Throws std::invalid_argument if the settings contradict each other, std::system_error if there
  /// is no memory.
  outbox(const outbox_settings& settings, const block_identity& identity);
  ~outbox(); ///< nobody may hold a block any more
  outbox(const outbox&) = delete;
  outbox& operator=(const outbox&) = delete;

  [[nodiscard]] const block_identity& identity() const { return identity_; }

  // --- the drain thread ---

  /// Copies an event into the open block. False: no room now; wait_for_room() or give the event up.
  [[nodiscard]] bool append(std::span<const std::byte> packed_event, std::uint64_t completed_at);
  /// Waits until an event of this length fits. False: not within the limit, or longer than the
  /// whole ring.
  [[nodiscard]] bool wait_for_room(std::chrono::nanoseconds limit, std::size_t bytes);
  /// All events of this batch, and of all before it, have been appended or dropped.
  void batch_done(std::uint64_t serial);
  /// Seals the open block if its oldest event was complete longer ago than the block age.
  void seal_if_due(std::uint64_t now);
  void seal();

  // --- the forwarder thread ---

  /// A sealed block, held until release() is called with its `hold`.
  struct held_block {
    std::span<const std::byte> bytes;
    void* hold = nullptr;
  };
  /// Nothing if the block is stored already or not sealed yet. One block may be held several times.
  [[nodiscard]] std::optional<held_block> hold(std::uint64_t sequence);
  static void release(void* hold) noexcept; ///< any thread
  [[nodiscard]] bool is_held(std::uint64_t sequence) const;
  [[nodiscard]] std::size_t
  bytes_of(std::uint64_t sequence) const; ///< of a sealed block not yet stored
  /// The receiver has stored every block up to this one. Numbers that are not news, or not
  /// possible, are ignored.
  void stored_up_to(std::uint64_t sequence, std::uint64_t now);
  /// Becomes readable when a block is sealed or wake() is called; for poll.
  [[nodiscard]] int wake_descriptor() const { return wake_.get(); }
  void clear_wake() const;

  // --- any thread ---

  void wake() const;
  [[nodiscard]] std::uint64_t last_sealed() const {
    return sealed_.load(std::memory_order_acquire);
  }
  [[nodiscard]] std::uint64_t last_stored() const {
    return stored_.load(std::memory_order_acquire);
  }
  /// Every batch with a serial number up to this one is safe: its events are stored, or were
  /// dropped and counted.
  [[nodiscard]] std::uint64_t safe_batches() const { return safe_.load(std::memory_order_acquire); }

  [[nodiscard]] std::uint64_t events_stored() const { return events_stored_; }
  [[nodiscard]] std::uint64_t events_waiting() const; ///< appended and not stored
  [[nodiscard]] std::uint64_t bytes_waiting() const;
  [[nodiscard]] std::uint64_t blocks_waiting() const { return last_sealed() - last_stored(); }
  [[nodiscard]] std::uint64_t capacity() const { return capacity_; }
  /// Of the ring, and of the tables of its blocks and events.
  [[nodiscard]] std::size_t bytes() const;
  /// From an event's completion to its block's acknowledgement.
  [[nodiscard]] const latency_histogram& latency() const { return latency_; }

private:
  [[nodiscard]] bool make_room(std::size_t bytes);
  [[nodiscard]] bool fits_in_open(std::size_t bytes) const;
  [[nodiscard]] std::uint64_t start_for(std::size_t bytes) const;
  [[nodiscard]] bool fits_as_new(std::size_t bytes) const;
  [[nodiscard]] bool times_full() const;
  [[nodiscard]] std::byte* at(std::uint64_t position) const { return ring_ + position % capacity_; }
  [[nodiscard]] slot& slot_of(std::uint64_t sequence) const;
  void reuse_released(); ///< under the lock

  // Positions count bytes since the start; their remainder by the capacity is the place in the
  // ring.
  std::uint64_t capacity_;
  std::uint64_t block_bytes_;
  std::uint64_t block_age_;
  block_identity identity_;
  std::byte* ring_ = nullptr;
  std::vector<slot> slots_;          ///< of the blocks not yet reused, by sequence number
  std::vector<std::uint64_t> times_; ///< when each event in the ring was complete, as a ring
  file_descriptor wake_;

  // The open block; the drain thread's own.
  std::uint64_t open_start_ = 0;
  std::uint32_t open_bytes_ = 0; ///< of the payload
  std::uint32_t open_events_ = 0;
  std::uint32_t open_crc_ = 0;
  std::uint64_t open_since_ = 0;
  std::uint64_t open_last_batch_ = 0;
  std::uint64_t sealed_end_ = 0; ///< where the next block may begin
  std::uint64_t next_time_ = 0;

  mutable std::mutex
      lock_; ///< guards holds and last batches of the slots, and the moves of what follows
  std::condition_variable room_;
  std::atomic<std::uint64_t> sealed_{0}; ///< last sequence numbers
  std::atomic<std::uint64_t> stored_{0};
  std::atomic<std::uint64_t> reused_{0};
  std::atomic<std::uint64_t> tail_{0};      ///< where the oldest block begins whose memory is taken
  std::atomic<std::uint64_t> time_tail_{0}; ///< the same in times_
  std::atomic<std::uint64_t> safe_{0};

  counter events_appended_, bytes_appended_;
  counter events_stored_, bytes_stored_;
  latency_histogram latency_;
};

struct outbox::slot {
  outbox* owner = nullptr;
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t first_time = 0;
  std::uint64_t last_batch = 0; ///< safe once this block is stored; 0: none
  std::uint32_t bytes = 0;      ///< header included
  std::uint32_t events = 0;
  std::uint32_t holds = 0;
};

} // namespace l3
