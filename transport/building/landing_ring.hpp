// SPDX-License-Identifier: Apache-2.0
// The datagrams that one receive thread hands to the event builder: a bounded ring with one
// producer, the receive thread, and one consumer, the thread that owns the event builder at the
// moment. The free entries have slots of the current batch, into which the kernel writes payloads.
// The producer checks and summarizes what has landed, without any lock. The owner takes it and
// gives the entries new slots. A full ring leaves further datagrams in the sockets.
//
// A slot whose datagram is kept becomes a piece of its batch; any other slot is free again. When
// every frame is busy, entries have the ring's own memory, from which the builder copies only
// chunks of open events. The kernel writes only while the producer uses the free entries. At other
// times the owner may exchange their slots, so an idle thread keeps no batch that has closed.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "transport/accounting/counters.hpp"
#include "transport/building/arrived_chunk.hpp"
#include "transport/building/held_batches.hpp"
#include "transport/format/time.hpp"

namespace l3 {

class event_builder;

class landing_ring {
public:
  /// What an entry holds.
  enum class content : std::uint8_t { nothing, chunk, trailer, end_of_spill };
  struct entry {
    landing_slot slot;
    std::byte* own = nullptr; ///< its part of the ring's own memory
    arrived_chunk chunk;      ///< of a trailer or an end of spill: header and place only
    content what = content::nothing;
  };

  /// `input` gets the refusals of its datagrams. Both must outlive the ring.
  landing_ring(event_builder& builder, std::uint32_t entries, input_counters& input);
  /// The builder takes what has landed.
  ~landing_ring();
  landing_ring(const landing_ring&) = delete;
  landing_ring& operator=(const landing_ring&) = delete;

  // For the producer.

  /// The number of entries; at most its share of a batch.
  [[nodiscard]] std::size_t size() const { return size_; }
  /// Free entries, each with a slot. None before the first event_builder::enter().
  [[nodiscard]] std::size_t free() const {
    return granted_.load(std::memory_order_acquire) - landed_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] bool is_half_full() const { return free() <= size_ / 2; }
  /// The n-th free entry.
  [[nodiscard]] entry& free_entry(std::size_t n) {
    return at(landed_.load(std::memory_order_relaxed) + n);
  }
  /// Call it when the datagram of the n-th free entry has landed in the slot of a later one.
  void exchange(std::size_t n, std::size_t later) {
    std::swap(free_entry(n).slot, free_entry(later).slot);
    std::swap(free_entry(n).own, free_entry(later).own);
  }
  /// Hands over the next `n` free entries.
  void land(std::size_t n) {
    landed_.store(landed_.load(std::memory_order_relaxed) + n, std::memory_order_release);
  }
  [[nodiscard]] input_counters& input() { return input_; }

  /// A round over the ports begins, or ends and the next one begins. `emptied`: everything that the
  /// ports held when it began was read in this round and those before it.
  void begin_round(time_point now) {
    round_began_ = now;
    if (!left_behind_) unread_since_ = now;
  }
  void end_round(time_point now, bool emptied) {
    read_up_to_ = std::exchange(round_began_, now);
    left_behind_ = !emptied;
    if (emptied) emptied_up_to_ = std::exchange(unread_since_, now);
  }

  /// The producer, or the owner of the event builder, begins to use the free entries, unless the
  /// other one does.
  [[nodiscard]] bool try_use() { return !in_use_.exchange(true, std::memory_order_acquire); }
  void end_use() { in_use_.store(false, std::memory_order_release); }

  // For the owner of the event builder. Each thread reads its ports in turn, round after round. A
  // datagram that was in a socket when a round began has been read when it ends. (Otherwise it is
  // as far back in its queue as those sent with it to other ports.) A thread without data makes no
  // rounds.

  /// Datagrams that had reached the thread's ports by then have landed. Read it before landed().
  [[nodiscard]] time_point read_up_to() const { return read_up_to_; }
  /// The same, also behind a long queue; `never` if the thread has never found its ports empty.
  [[nodiscard]] time_point emptied_up_to() const { return emptied_up_to_; }

  [[nodiscard]] std::size_t landed() const {
    return landed_.load(std::memory_order_acquire) - taken_;
  }
  /// The oldest entry that has landed, until pop().
  [[nodiscard]] entry& front() { return at(taken_); }
  /// The owner has used the oldest entry: its slot is free again unless it was kept.
  void pop();
  /// Call it when another batch has become the current one.
  void change_batch() { is_behind_ = true; }
  /// Whether free entries may have slots of an earlier batch.
  [[nodiscard]] bool is_behind() const { return is_behind_ && free() > 0; }
  /// Gives the used entries slots of the current batch, or own memory without a batch. Returns
  /// false if the ring has no slot at all, because the batch has none left.
  [[nodiscard]] bool refill(held_batches& batches);
  void use_own_memory();
  /// Takes the slots of the free entries back. Only for a thread that uses them.
  void release();

private:
  [[nodiscard]] entry& at(std::size_t n) { return entries_[n & mask_]; }
  void grant(landing_slot slot) {
    const std::size_t n = granted_.load(std::memory_order_relaxed);
    at(n).slot = slot;
    granted_.store(n + 1, std::memory_order_release);
  }

  event_builder& builder_;
  input_counters& input_;
  std::size_t size_;
  std::size_t mask_;
  std::vector<entry> entries_;
  std::size_t own_slot_bytes_;
  std::vector<std::byte> own_;

  // Each entry is free from its grant until it lands, and then waits until it is taken.
  alignas(64) std::atomic<std::size_t> landed_ = 0;  // written by the producer
  std::atomic<time_point> read_up_to_{};             // likewise
  std::atomic<time_point> emptied_up_to_ = never;    // likewise
  time_point round_began_{};                         // of the producer
  time_point unread_since_{};                        // likewise
  bool left_behind_ = false;                         // likewise
  alignas(64) std::atomic<std::size_t> granted_ = 0; // written by the owner
  std::size_t taken_ = 0;                            // of the owner
  bool is_behind_ = false;                           // likewise
  std::atomic<bool> in_use_ = false;                 // the free entries
};

} // namespace l3
