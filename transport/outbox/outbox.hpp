// SPDX-License-Identifier: Apache-2.0
// The outbox owns every packed event from the moment a frame gives it up until the receiver has
// stored it. It is one ring of memory, allocated and touched at the start, in which output blocks
// (docs/formats.md, section 6) are built, sent from and, if need be, sent again; when it is full it
// says so, and grows never.
//
// One thread appends events and seals blocks, another takes them and reports what is stored. The
// memory of a block is used again when the block is stored and held no more: ZeroMQ sends from it
// directly.
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
#include "transport/accounting/histogram.hpp"
#include "transport/format/block.hpp"
#include "transport/format/time.hpp"
#include "transport/outbox/block_source.hpp"
#include "transport/outbox/safe_batches.hpp"
#include "transport/outbox/settings.hpp"

namespace l3 {

/// No block may be set larger: a receiver refuses messages that could not be blocks.
inline constexpr byte_size largest_block_setting = mebibytes(32);

class outbox final : public block_source {
public:
  /// Each block is told to `safety` when it is sealed, and again when it is secured. Throws
  /// std::invalid_argument if the settings contradict each other, std::system_error if there is no
  /// memory. `decided_by`, what decides the events, goes with the first block and with others now
  /// and then; empty: with none.
  outbox(const outbox_settings& settings, const block_identity& identity, safe_batches& safety,
         std::vector<std::byte> decided_by = {});
  ~outbox() override; ///< no block may be held any more

  // --- the thread that fills it ---

  /// Copies an event into the open block. False: no room now; wait_for_room() or give the event up.
  [[nodiscard]] bool append(std::span<const std::byte> packed_event, time_point completed_at);
  /// Waits until an event of this length fits. False: not within the limit, or longer than the
  /// whole ring.
  [[nodiscard]] bool wait_for_room(std::chrono::nanoseconds limit, std::size_t bytes);
  /// All events of this batch, and of all before it, have been appended or dropped.
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
  /// Entries (format/block_entries.hpp) that are to stand once in the stream: they wait until a
  /// block begins in which they find room, behind its settings. False: they are too long, or so
  /// many wait already that there is no room for these.
  [[nodiscard]] bool add_once(std::vector<std::byte> entries);
  /// So many bytes of them may wait.
  static constexpr std::size_t most_once_bytes = 2 * std::size_t{max_settings_bytes};
  /// Seals what waits of them in blocks without events. False: there is no room now.
  [[nodiscard]] bool seal_once();
  [[nodiscard]] std::size_t once_waiting() const { return once_.size(); }

  // --- the thread that empties it ---

  [[nodiscard]] lane_state lane() const override {
    return {identity_, last_sealed(), last_stored()};
  }
  [[nodiscard]] held_block hold(std::uint64_t sequence) override; ///< any thread
  void stored_up_to(std::uint64_t sequence, time_point now) override;

  // --- any thread ---

  /// Of this sealed block there is a copy that survives this process.
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
  [[nodiscard]] std::uint64_t events_waiting() const; ///< appended and not stored
  [[nodiscard]] std::uint64_t bytes_waiting() const;
  [[nodiscard]] std::uint64_t capacity() const { return capacity_; }
  /// Memory of the ring, and of the tables of its blocks and events.
  [[nodiscard]] static std::size_t memory_plan(const outbox_settings& settings);
  /// From an event's completion to its block's acknowledgement.
  [[nodiscard]] const latency_histogram& latency() const { return latency_; }

private:
  /// A sealed block.
  struct slot {
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    std::uint64_t first_time = 0;
    safe_batches::ticket ticket = 0;
    std::uint32_t bytes = 0; ///< header included
    std::uint32_t events = 0;
    std::uint32_t holds = 0;
  };

  /// The block to which events are added, behind the room for its header. Their checksum is taken
  /// while the copy is still in the cache: a second walk would cost a read from memory, and bytes
  /// that wait for long would wait unguarded.
  struct open_block {
    std::uint64_t start = 0;
    std::uint32_t bytes = sizeof(block_header);
    std::uint32_t events = 0;
    std::uint32_t payload_crc = 0;
    time_point oldest = never;    ///< when the event that has waited longest was complete
    std::uint64_t last_batch = 0; ///< that ends in it; 0: none does
    bool with_settings = false;   ///< room is kept for them behind the events
    std::vector<std::byte> once;  ///< and for these, behind the settings
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
  void reuse_released(); ///< under the lock

  // Positions count bytes since the start; their remainder by the capacity is the place in the
  // ring.
  std::uint64_t capacity_;
  std::uint64_t block_bytes_;
  std::chrono::nanoseconds block_age_;
  codec_id codec_;
  block_identity identity_;
  safe_batches& safety_;
  std::vector<std::byte> decided_by_;
  std::uint64_t between_settings_; ///< bytes
  std::byte* ring_ = nullptr;
  std::vector<slot> slots_;       ///< of the blocks not yet reused, by sequence number
  std::vector<time_point> times_; ///< when each event in the ring was complete, as a ring

  // The filling thread's own.
  open_block open_;
  std::uint64_t sealed_end_ = 0; ///< where the next block may begin
  std::uint64_t next_time_ = 0;
  std::uint64_t since_settings_ = 0;        ///< bytes of blocks since the last that has them
  std::deque<std::vector<std::byte>> once_; ///< waits for a block each

  std::mutex lock_; ///< guards the slots' holds, and the moves of what follows
  std::condition_variable room_;
  std::atomic<std::uint64_t> sealed_{0}; ///< last sequence numbers
  std::atomic<std::uint64_t> stored_{0};
  std::atomic<std::uint64_t> reused_{0};
  std::atomic<std::uint64_t> tail_{0};      ///< where the oldest block begins whose memory is taken
  std::atomic<std::uint64_t> time_tail_{0}; ///< the same in times_

  counter events_appended_, bytes_appended_;
  counter events_stored_, bytes_stored_;
  latency_histogram latency_;
};

} // namespace l3
