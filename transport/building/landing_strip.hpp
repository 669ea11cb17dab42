// SPDX-License-Identifier: Apache-2.0
// The memory into which data are received: the strip of a receive thread for datagrams, the landing
// of a connection for record bodies.
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
  piece_offset offset = 0; ///< in the batch; unused in a strip's own memory
};

/// The slots into which one receive thread may write. They belong to a batch or, when every frame
/// is busy, to the strip's own memory, from which the builder copies only chunks of open events. A
/// slot whose datagram is kept is replaced in place, and the strip lists the replaced slots, so
/// that the thread updates only those for recvmmsg. Outside a sweep the strip holds nothing: its
/// slots are free in the batch, and unless another strip takes them it gets the same ones back. So
/// an idle thread blocks neither the submission of a batch nor slots. The thread owns the strip;
/// the event builder changes it only in calls from that thread.
class landing_strip {
public:
  landing_strip(std::uint32_t slots, std::uint32_t chunk_bytes);

  /// Each receives one datagram's payload, starting at first_free(). Empty between leave() and
  /// enter().
  [[nodiscard]] std::span<const landing_slot> slots() const { return {slots_.data(), held_}; }
  /// The slots before it have datagrams that the event builder has not taken yet.
  [[nodiscard]] std::size_t first_free() const {
    return waiting_.empty() ? 0 : waiting_.back().slot + 1;
  }
  /// Slots whose memory changed in the latest enter() or take(). The builder owns their previous
  /// content.
  [[nodiscard]] std::span<const std::uint32_t> exchanged() const { return exchanged_; }

  // Only for the thread that owns the strip.

  /// The chunk in the slot.
  [[nodiscard]] arrived_chunk& chunk(std::uint32_t slot) { return chunks_[slot]; }
  /// These wait until the next refill(), sorted by slot, behind those that already wait.
  void land(std::span<const datagram> datagrams) {
    waiting_.insert(waiting_.end(), datagrams.begin(), datagrams.end());
  }
  [[nodiscard]] std::span<const datagram> waiting() const { return waiting_; }
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
  /// Datagrams that had reached the thread's ports by then have landed (reading_rounds).
  [[nodiscard]] time_point read_up_to() const { return read_up_to_; }
  /// The same, also behind a long queue. Nothing if the thread has never found its ports empty.
  [[nodiscard]] std::optional<time_point> emptied_up_to() const { return emptied_up_to_; }

  // For the event builder, under its lock.

  [[nodiscard]] bool lies_in(const batch_in_use* batch) const {
    return at_ != nullptr && at_ == batch;
  }
  /// Keeps the slot as a piece of its batch.
  [[nodiscard]] piece_offset keep(std::uint32_t slot) {
    kept_.push_back(slot);
    return slots_[slot].offset;
  }
  /// Replaces kept slots, clears the waiting ones, and moves to the current batch, or to own memory
  /// without a batch. Returns false if the current batch has no slot for the strip.
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

  std::vector<landing_slot> slots_; // the first held_ are valid; the others show earlier content
  std::size_t held_ = 0;
  std::vector<arrived_chunk> chunks_; // by slot
  std::vector<datagram> waiting_;
  time_point round_began_{};
  time_point read_up_to_{};
  time_point unread_since_{};
  std::optional<time_point> emptied_up_to_;
  bool left_behind_ = false;
  std::vector<std::uint32_t> kept_;
  std::vector<std::uint32_t> exchanged_;
  batch_in_use* at_ = nullptr; // nullptr: own memory, or no slots
  std::vector<std::byte> own_;
};

/// How far the receive threads have read. Each thread reads its ports in turn, round after round. A
/// datagram that was in a socket when a round began has been read when it ends. (Otherwise it is as
/// far back in its queue as those sent with it to other ports.) So every datagram that had arrived
/// when the last finished rounds of all threads began has been read. A thread without data makes no
/// rounds; then only the time limit ends the wait.
///
/// Time limits are judged by emptied_up_to(): after a pause of the machine, data that had arrived
/// in time wait in the sockets. Guarded by the event builder's lock.
class reading_rounds {
public:
  /// Call it when the thread's read data have been taken. A thread is known from its first call on.
  void tell(const landing_strip& thread) {
    const auto at = std::ranges::find(threads_, &thread, &read_by::thread);
    read_by& r = at != threads_.end() ? *at : threads_.emplace_back(read_by{&thread});
    const time_point emptied = thread.emptied_up_to().value_or(never);
    if (r.up_to == thread.read_up_to() && r.emptied == emptied && at != threads_.end()) return;
    r.up_to = thread.read_up_to();
    r.emptied = emptied;
    read_up_to_ = std::ranges::min(threads_, {}, &read_by::up_to).up_to;
    emptied_up_to_ = std::ranges::min(threads_, {}, &read_by::emptied).emptied;
  }

  /// Datagrams that had arrived by then have been read.
  [[nodiscard]] time_point read_up_to() const { return read_up_to_; }
  /// Likewise, behind any queue; never if no thread has found its ports empty yet.
  [[nodiscard]] time_point emptied_up_to() const { return emptied_up_to_; }

private:
  struct read_by {
    const landing_strip* thread = nullptr;
    time_point up_to{};
    time_point emptied = never;
  };

  std::vector<read_by> threads_;
  time_point read_up_to_{};
  time_point emptied_up_to_ = never;
};

/// Where the bodies of event records land: directly in the memory of the current batch. If that
/// batch closes and the rest of a half-read record does not come in time, the half moves to the
/// connection's own memory, so that a stalled peer never holds a frame. That memory is allocated on
/// first use and freed with the connection. Guarded by the event builder's lock, except the bytes
/// of the body and the results of reading them.
class stream_landing {
public:
  /// `max_body`: the longest possible body.
  explicit stream_landing(std::size_t max_body) : own_(max_body) {}

private:
  friend class event_builder;

  batch_in_use* at_ = nullptr; // the batch with its room; nullptr: none, or the record is in own_
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
