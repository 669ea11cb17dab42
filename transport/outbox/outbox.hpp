// SPDX-License-Identifier: Apache-2.0
// The outbox owns every packed event from the release of its frame until the receiver has stored
// it. It is one ring of memory, allocated and touched at the start. Output blocks (docs/formats.md,
// section 6) are built in it, sent from it and, if need be, sent again. It never grows; it reports
// when it is full.
//
// One thread appends events and seals blocks, another sends them and reports what is stored. The
// memory of a block is reused when the block is stored and no longer held, because ZeroMQ sends
// directly from it.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <span>
#include <vector>

#include "transport/accounting/counters.hpp"
#include "transport/accounting/latency_distribution.hpp"
#include "transport/format/block.hpp"
#include "transport/format/time.hpp"
#include "transport/outbox/block_source.hpp"
#include "transport/outbox/safe_batches.hpp"
#include "transport/outbox/settings.hpp"

namespace l3 {

/// Upper limit of the block size: a receiver refuses larger messages.
inline constexpr byte_size largest_block_setting = mebibytes(32);

class outbox final : public block_source {
public:
  /// Reports each block to `safety` when it is sealed, and again when it is secured. Throws
  /// std::invalid_argument if the settings contradict each other, std::system_error if there is no
  /// memory. `decided_by`: the selection's settings, sent with the first block and with others now
  /// and then; may be empty.
  outbox(const outbox_settings& settings, const block_identity& identity, safe_batches& safety,
         std::vector<std::byte> decided_by = {});
  ~outbox() override; ///< no block may be held any more

  // --- the filling thread ---

  /// Copies an event into the open block. Returns false without room: call wait_for_room() or drop
  /// the event.
  [[nodiscard]] bool append(std::span<const std::byte> packed_event, time_point completed_at);
  /// Waits until an event of this length fits. Returns false if it does not within the limit, or is
  /// longer than the ring.
  [[nodiscard]] bool wait_for_room(std::chrono::nanoseconds limit, std::size_t bytes);
  /// All events of this and earlier batches have been appended or dropped.
  void batch_done(std::uint64_t serial);
  /// When the oldest event of the open block reaches the block age; `never` without an open block.
  [[nodiscard]] time_point due_at() const {
    return has_open_block() ? open_.oldest + block_age_ : never;
  }
  void seal_if_due(time_point now) {
    if (now >= due_at()) seal();
  }
  void seal();
  [[nodiscard]] bool has_open_block() const { return open_.events != 0; }
  /// Entries (format/block_entries.hpp) that are written once in the stream. They wait until a
  /// block with room for them begins, and go after its settings. Returns false if they are too
  /// long, or too many bytes already wait.
  [[nodiscard]] bool add_once(std::vector<std::byte> entries);
  /// Limit of the waiting bytes.
  static constexpr std::size_t most_once_bytes = 2 * std::size_t{max_settings_bytes};
  /// Seals waiting entries in blocks without events. Returns false without room.
  [[nodiscard]] bool seal_once();
  [[nodiscard]] std::size_t once_waiting() const { return once_.size(); }

  // --- the sending thread ---

  [[nodiscard]] lane_state lane() const override {
    return {identity_, last_sealed(), last_stored()};
  }
  [[nodiscard]] held_block hold(std::uint64_t sequence) override; ///< any thread
  void stored_up_to(std::uint64_t sequence, time_point now) override;

  // --- any thread ---

  /// The sealed block has a copy that survives this process.
  void secured(std::uint64_t sequence);
  [[nodiscard]] std::uint64_t last_sealed() const {
    return sealed_.load(std::memory_order_acquire);
  }
  [[nodiscard]] std::uint64_t last_stored() const {
    return stored_.load(std::memory_order_acquire);
  }
  [[nodiscard]] std::uint64_t blocks_waiting() const;

  [[nodiscard]] std::uint64_t events_appended() const { return events_appended_; }
  [[nodiscard]] std::uint64_t events_stored() const { return events_stored_; }
  [[nodiscard]] std::uint64_t events_waiting() const; ///< appended but not stored
  [[nodiscard]] std::uint64_t bytes_waiting() const;
  [[nodiscard]] std::uint64_t capacity() const { return capacity_; }
  /// Memory of the ring and of its tables of blocks and events.
  [[nodiscard]] static std::size_t memory_plan(const outbox_settings& settings);
  /// From completion of an event to the acknowledgement of its block.
  [[nodiscard]] const latency_distribution& latency() const { return latency_; }

private:
  /// A sealed block.
  struct slot {
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    std::uint64_t first_time = 0;
    safe_batches::ticket ticket = 0;
    std::uint32_t bytes = 0; ///< including header
    std::uint32_t events = 0;
    std::uint32_t holds = 0;
  };

  /// The block to which events are added, after the room for its header. Its checksum is computed
  /// while the copy is still in the cache: later it would cost a read from memory, and the bytes
  /// would wait unprotected.
  struct open_block {
    std::uint64_t start = 0;
    std::uint32_t bytes = sizeof(block_header);
    std::uint32_t events = 0;
    std::uint32_t payload_crc = 0;
    time_point oldest = never;    ///< completion time of the oldest event
    std::uint64_t last_batch = 0; ///< the last batch that ends in it; 0: none
    bool with_settings = false;   ///< room is reserved for them after the events
    std::vector<std::byte> once;  ///< likewise, after the settings
  };

  [[nodiscard]] bool make_room(std::size_t bytes);
  [[nodiscard]] bool fits_in_open(std::size_t bytes) const;
  [[nodiscard]] std::uint64_t start_for(std::size_t bytes) const;
  [[nodiscard]] bool fits_as_new(std::size_t bytes) const;
  [[nodiscard]] bool times_full() const;
  [[nodiscard]] std::size_t settings_of(const open_block& block) const {
    return block.with_settings ? decided_by_.size() + block.once.size() : 0;
  }
  [[nodiscard]] std::size_t settings_of_next() const {
    return events_appended_ == 0 || since_settings_ >= between_settings_ ? decided_by_.size() : 0;
  }
  [[nodiscard]] std::byte* at(std::uint64_t position) const { return ring_ + position % capacity_; }
  [[nodiscard]] slot& slot_of(std::uint64_t sequence) { return slots_[sequence % slots_.size()]; }
  void begin_block(std::size_t bytes);
  void seal_open();
  void add_settings();
  void add_to_open(std::span<const std::byte> entries);
  void let_go(slot& held);
  void reuse_released(); ///< call it with the lock

  // Positions count bytes since the start; modulo the capacity they give the place in the ring.
  std::uint64_t capacity_;
  std::uint64_t block_bytes_;
  std::chrono::nanoseconds block_age_;
  codec_id codec_;
  block_identity identity_;
  safe_batches& safety_;
  std::vector<std::byte> decided_by_;
  std::uint64_t between_settings_; ///< bytes
  std::byte* ring_ = nullptr;
  std::vector<slot> slots_;       ///< by sequence number, of blocks not yet reused
  std::vector<time_point> times_; ///< completion times of the events in the ring, as a ring

  // Only the filling thread uses these.
  open_block open_;
  std::uint64_t sealed_end_ = 0; ///< earliest start of the next block
  std::uint64_t next_time_ = 0;
  std::uint64_t since_settings_ = 0;        ///< bytes of blocks since the last block with settings
  std::deque<std::vector<std::byte>> once_; ///< each waits for a block

  std::mutex lock_; ///< guards the slots' holds and changes of the members below
  std::condition_variable room_;
  std::atomic<std::uint64_t> sealed_{0}; ///< last sequence number
  std::atomic<std::uint64_t> stored_{0};
  std::atomic<std::uint64_t> reused_{0};
  std::atomic<std::uint64_t> tail_{0};      ///< start of the oldest block in use
  std::atomic<std::uint64_t> time_tail_{0}; ///< likewise in times_

  counter events_appended_, bytes_appended_;
  counter events_stored_, bytes_stored_;
  latency_distribution latency_;
};

} // namespace l3
