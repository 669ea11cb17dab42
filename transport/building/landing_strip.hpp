// SPDX-License-Identifier: Apache-2.0
// Where what is received lands: datagrams in the strip of their receive thread, the body of a
// record in the landing of its connection.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "transport/building/arrived_chunk.hpp"
#include "transport/building/held_batches.hpp"
#include "transport/file/record_parser.hpp"
#include "transport/system/mapped_memory.hpp"

namespace l3 {

struct landing_slot {
  std::byte* memory = nullptr;
  piece_offset offset = 0; ///< in the batch; meaningless in a strip's own memory
};

/// The slots that one receive thread may write into: of a batch, or, when every frame is busy, in
/// memory of its own, from which the builder copies only chunks of events in progress. A slot whose
/// datagram is kept is replaced in its place, and the strip names the slots that it replaced, so
/// that the thread tells recvmmsg of those only. Outside a sweep the strip holds nothing: its slots
/// lie in the batch, free for others, and unless another took them meanwhile the strip gets the
/// same ones back. So a thread without work keeps no batch from being submitted and no slot from
/// other threads. The thread owns the strip; the event builder changes it when that thread calls.
class landing_strip {
public:
  landing_strip(std::uint32_t slots, std::uint32_t chunk_bytes);

  /// Each takes one datagram's payload, from first_free() on. None between leave() and enter().
  [[nodiscard]] std::span<const landing_slot> slots() const { return {slots_.data(), held_}; }
  /// The slots before it have datagrams that the event builder has not taken yet.
  [[nodiscard]] std::size_t first_free() const {
    return waiting_.empty() ? 0 : waiting_.back().slot + 1;
  }
  /// Slots whose memory is another than before the latest enter() or take() of the event builder.
  /// What lay in these slots before is the builder's.
  [[nodiscard]] std::span<const std::uint32_t> exchanged() const { return exchanged_; }

  // Only for the thread that holds the strip.

  /// The chunk that has landed in the slot.
  [[nodiscard]] arrived_chunk& chunk(std::uint32_t slot) { return chunks_[slot]; }
  /// These wait until the next refill(): in rising order of slots, behind those that wait already.
  void land(std::span<const datagram> datagrams) {
    waiting_.insert(waiting_.end(), datagrams.begin(), datagrams.end());
  }
  [[nodiscard]] std::span<const datagram> waiting() const { return waiting_; }
  /// A round over the ports begins, or ends and the next one begins.
  void begin_round(time_point now) { round_began_ = now; }
  void end_round(time_point now) { read_up_to_ = std::exchange(round_began_, now); }
  /// Datagrams that had arrived by then at the thread's ports have landed (reading_rounds).
  [[nodiscard]] time_point read_up_to() const { return read_up_to_; }

  // For the event builder, under its lock.

  [[nodiscard]] bool lies_in(const batch_in_use* batch) const {
    return at_ != nullptr && at_ == batch;
  }
  /// The slot is a piece of its batch from now on.
  [[nodiscard]] piece_offset keep(std::uint32_t slot) {
    kept_.push_back(slot);
    return slots_[slot].offset;
  }
  /// Replaces kept slots, forgets what waited, and moves to the current batch, or to own memory if
  /// there is no batch. False if the current batch has no slot for the strip.
  [[nodiscard]] bool refill(held_batches& batches);
  void use_own_memory(held_batches& batches);
  void release(held_batches& batches);

private:
  void fill();
  void drop_kept(std::size_t replaced);
  void set(std::uint32_t slot, landing_slot to) {
    if (slots_[slot].memory != to.memory) exchanged_.push_back(slot);
    slots_[slot] = to;
  }

  std::vector<landing_slot> slots_; // the first held_ are valid; the others tell what was there
  std::size_t held_ = 0;
  std::vector<arrived_chunk> chunks_; // by slot
  std::vector<datagram> waiting_;
  time_point round_began_{};
  time_point read_up_to_{};
  std::vector<std::uint32_t> kept_;
  std::vector<std::uint32_t> exchanged_;
  batch_in_use* at_ = nullptr; // nullptr: own memory, or nothing
  std::vector<std::byte> own_;
};

/// How far the receive threads have read. Each thread reads its ports in turn, round after round. A
/// datagram that lay in a socket when a round began has been read when it ends (behind a long
/// queue, it lies as deep as those sent with it to the other ports). So every datagram that had
/// arrived when the last finished rounds of all threads began has been read. A thread that has
/// nothing to read makes no rounds, and then only the time limit ends the wait. Guarded by the
/// event builder's lock.
class reading_rounds {
public:
  /// What the thread has read has been taken. A thread is known from the first time on.
  void tell(const landing_strip& thread) {
    const auto at = std::ranges::find(threads_, &thread, &read_by::thread);
    read_by& r = at != threads_.end() ? *at : threads_.emplace_back(read_by{&thread});
    if (r.up_to == thread.read_up_to() && at != threads_.end()) return;
    r.up_to = thread.read_up_to();
    read_up_to_ = std::ranges::min(threads_, {}, &read_by::up_to).up_to;
  }

  /// Datagrams that had arrived by then have been read.
  [[nodiscard]] time_point read_up_to() const { return read_up_to_; }

private:
  struct read_by {
    const landing_strip* thread = nullptr;
    time_point up_to{};
  };

  std::vector<read_by> threads_;
  time_point read_up_to_{};
};

/// Where the bodies of event records land: straight in the memory of the current batch. If that
/// batch closes while a record is half read, and does not get the rest in time, the half moves to
/// the connection's own memory, so that a stalled peer never holds a frame. This memory takes none
/// before it is used, and goes back to the system with the connection. Guarded by the event
/// builder's lock, except the bytes of the body, and what is found in them.
class stream_landing {
public:
  /// `max_body`: the longest body that it must hold.
  explicit stream_landing(std::size_t max_body) : own_(max_body) {}

private:
  friend class event_builder;

  batch_in_use* at_ =
      nullptr; // the batch in which it has room; nullptr: none, or the record is in own_
  piece_offset offset_ = 0;
  std::size_t room_ = 0;
  std::size_t body_ = 0; // length of the record's body
  std::size_t filled_ = 0;
  bool inside_ = false; // a thread uses the body without the lock
  mapped_memory own_;
  event_view view_;
  std::optional<std::uint32_t> spill_; // begun and not ended
  std::uint64_t id_ = 0;               // unique to the connection
  std::uint64_t hello_ = 0;            // sequence number of its hello
};

} // namespace l3
