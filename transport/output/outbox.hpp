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
#include "transport/output/block_builder.hpp"
#include "transport/output/block_source.hpp"
#include "transport/output/safe_batches.hpp"
#include "transport/output/settings.hpp"
#include "transport/system/wake_event.hpp"

namespace l3 {

/// No block may be set larger: a receiver refuses messages that could not be blocks.
inline constexpr byte_size largest_block_setting = mebibytes(32);

class outbox final : public block_source {
  struct slot;

public:
  /// Throws std::invalid_argument if the settings contradict each other, std::system_error if there
  /// is no memory.
  outbox(const outbox_settings& settings, const block_identity& identity);
  ~outbox() override; ///< nobody may hold a block any more

  [[nodiscard]] block_identity identity() const override { return identity_; }

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

  // --- the forwarder thread, and whoever copies blocks elsewhere ---

  [[nodiscard]] std::optional<held_block> hold(std::uint64_t sequence) override;
  /// For safety(): of a block held, for when a copy of it is on disk.
  [[nodiscard]] static safe_batches::ticket ticket_of(const block_hold* hold);
  [[nodiscard]] bool is_held(std::uint64_t sequence) const override;
  [[nodiscard]] std::size_t
  bytes_of(std::uint64_t sequence) const; ///< of a sealed block not yet stored
  void stored_up_to(std::uint64_t sequence, std::uint64_t now) override;
  [[nodiscard]] int wake_descriptor() const override { return wake_.descriptor(); }
  void clear_wake() const override { wake_.clear(); }

  // --- any thread ---

  void wake() const override { wake_.wake(); }
  [[nodiscard]] std::uint64_t last_sealed() const override {
    return sealed_.load(std::memory_order_acquire);
  }
  [[nodiscard]] std::uint64_t last_stored() const override {
    return stored_.load(std::memory_order_acquire);
  }
  /// For all blocks that this outbox seals, and for those that leave beside it.
  [[nodiscard]] safe_batches& safety() { return safety_; }
  [[nodiscard]] const safe_batches& safety() const { return safety_; }

  [[nodiscard]] std::uint64_t events_stored() const { return events_stored_; }
  [[nodiscard]] std::uint64_t events_waiting() const; ///< appended and not stored
  [[nodiscard]] std::uint64_t bytes_waiting() const;
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
  wake_event wake_;

  // The open block; the drain thread's own.
  block_builder open_;
  std::uint64_t open_start_ = 0;
  std::uint64_t open_last_batch_ = 0;
  std::uint64_t sealed_end_ = 0; ///< where the next block may begin
  std::uint64_t next_time_ = 0;

  mutable std::mutex lock_; ///< guards the slots' holds, and the moves of what follows
  std::condition_variable room_;
  std::atomic<std::uint64_t> sealed_{0}; ///< last sequence numbers
  std::atomic<std::uint64_t> stored_{0};
  std::atomic<std::uint64_t> reused_{0};
  std::atomic<std::uint64_t> tail_{0};      ///< where the oldest block begins whose memory is taken
  std::atomic<std::uint64_t> time_tail_{0}; ///< the same in times_
  safe_batches safety_;

  counter events_appended_, bytes_appended_;
  counter events_stored_, bytes_stored_;
  latency_histogram latency_;
};

struct outbox::slot final : block_hold {
  void release() noexcept override;

  outbox* owner = nullptr;
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t first_time = 0;
  safe_batches::ticket ticket = 0;
  std::uint32_t bytes = 0; ///< header included
  std::uint32_t events = 0;
  std::uint32_t holds = 0;
};

} // namespace l3
