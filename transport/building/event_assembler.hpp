// SPDX-License-Identifier: Apache-2.0
// The events being assembled, and the places of their chunks. No event ends here: when all its
// fragments have ended, it waits in a queue until the event builder ends it.
//
// A chunk that landed in the batch of its event stays there; any other chunk is copied into it. An
// event moves to the parking area when its batch must go. If that area is full too, the event loses
// its place and is only counted.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "transport/building/admission.hpp"
#include "transport/building/arrived_chunk.hpp"
#include "transport/building/assembly.hpp"
#include "transport/building/held_batches.hpp"
#include "transport/building/settings.hpp"
#include "transport/format/batch_capacity.hpp"

namespace l3 {

class event_assembler {
public:
  /// The longest time from the datagrams that complete an event to the true chunk: a few rounds of
  /// a thread over its ports, or the time by which one thread is ahead of another.
  static constexpr std::chrono::nanoseconds doubt_limit = std::chrono::milliseconds(3);

  event_assembler(const building_settings& settings, const batch_capacity& capacity,
                  held_batches& batches, building_counters& counters);

  [[nodiscard]] event_assembly& operator[](std::uint32_t handle) { return events_[handle]; }
  [[nodiscard]] std::uint32_t open_events() const { return events_.size(); }
  /// Seen fragments whose event has not ended yet. Any thread.
  [[nodiscard]] std::uint64_t open_fragments() const { return open_fragments_; }
  [[nodiscard]] static std::size_t memory_plan(const building_settings& settings,
                                               const batch_capacity& capacity);

  // Datagrams.

  /// Whether no further event can be opened.
  [[nodiscard]] bool full() const { return events_.full(); }
  /// Opens the event in the current batch, or nowhere if that is full.
  std::uint32_t open(spill_table& spill, std::uint32_t number, time_point now);
  void add_chunk(std::uint32_t handle, const arrived_chunk& c, time_point now);
  /// Adds a trailer, which gives the number of its fragment's chunks.
  void add_trailer(std::uint32_t handle, std::uint32_t crate, std::uint32_t chunks, time_point now);
  /// Whether the event lacks the chunk or doubts it.
  [[nodiscard]] bool wants(std::uint32_t handle, const arrived_chunk& c) const;
  /// Whether a chunk of the crate's fragment has arrived.
  [[nodiscard]] bool has_chunks(std::uint32_t handle, std::uint32_t crate) const;

  // The queue of ending events.

  /// Number of events that are ready or due.
  [[nodiscard]] std::size_t queued() const { return queue_.size(); }
  [[nodiscard]] bool any_in_doubt() const { return !doubtful_.empty(); }
  /// Doubt ends early when the threads have read all datagrams that arrived no later than the
  /// event's last one, up to `read_up_to`.
  void end_doubts(time_point now, time_point read_up_to);
  /// Queues the event, complete or not, as ready or due.
  void queue(std::uint32_t handle, assembly_state as = assembly_state::due);
  /// Queues all events for which `as` does not return `filling`.
  template <typename StateOf>
  void queue_all(const StateOf& as);
  /// The first event in the queue that is due, or is ready and `has_room`; event_assembly::none if
  /// there is none.
  template <typename Predicate>
  [[nodiscard]] std::uint32_t next(const Predicate& has_room) const;
  /// The oldest event for which the predicate holds.
  template <typename Predicate>
  [[nodiscard]] std::uint32_t oldest(const Predicate& is_it) const;

  /// Counts once the missing fragments of events that began before `before`.
  void count_overdue(time_point before);

  // Moving and ending.

  [[nodiscard]] bool parking_is_full() const { return parking_.free() == 0; }
  /// Moves the event to the parking area, which must not be full.
  void park(std::uint32_t handle);

  /// Room that a parked event needs in a batch.
  [[nodiscard]] std::size_t parked_bytes(const event_assembly& e) const;
  /// Collects the seen fragments, sorted by crate.
  void collect(std::uint32_t handle, candidate_event& out);
  /// Ends the event. A stored one leaves its chunks in the batch.
  void release(std::uint32_t handle, bool stored);

private:
  void see(const event_assembly& e, std::uint32_t crate);
  static void hear_of(event_assembly& e, time_point now);
  void count_repeat(const event_assembly& e, std::uint32_t crate);
  void compare_chunk(event_assembly& e, const arrived_chunk& c);
  [[nodiscard]] bool place_in_batch(event_assembly& e, fragment_assembly& f,
                                    const arrived_chunk& c);
  void place_elsewhere(std::uint32_t handle, const arrived_chunk& c);
  void end_if_ended(std::uint32_t handle, bool ended_before, const fragment_assembly& f,
                    time_point now);
  void leave_batch(event_assembly& e, bool stored);
  [[nodiscard]] std::uint32_t length_of(const fragment_assembly& f, std::uint32_t chunk) const;
  [[nodiscard]] std::uint32_t bytes_of(const fragment_assembly& f) const;
  [[nodiscard]] piece_offset& piece(event_assembly& e, std::uint32_t crate, std::uint32_t chunk) {
    return e.pieces[crate * max_chunks_ + chunk];
  }
  [[nodiscard]] const std::byte* memory_of(event_assembly& e, std::uint32_t crate,
                                           std::uint32_t chunk);

  const building_settings& settings_;
  const std::uint32_t max_chunks_;
  held_batches& batches_;
  building_counters& counters_;
  assembly_pool events_;
  parking parking_;
  std::deque<std::uint32_t> doubtful_; // in the order in which their doubt ends
  std::deque<std::uint32_t> queue_;    // ready or due, in that order
  std::atomic<std::uint64_t> open_fragments_ = 0;
};

template <typename StateOf>
void event_assembler::queue_all(const StateOf& as) {
  for (auto h = events_.oldest(); h != event_assembly::none; h = events_.younger(h)) {
    const auto state = as(events_[h]);
    if (state != assembly_state::filling) queue(h, state);
  }
}

template <typename Predicate>
std::uint32_t event_assembler::next(const Predicate& has_room) const {
  const auto at = std::ranges::find_if(queue_, [&](std::uint32_t handle) {
    const event_assembly& e = events_[handle];
    return e.state == assembly_state::due || has_room(e);
  });
  return at == queue_.end() ? event_assembly::none : *at;
}

template <typename Predicate>
std::uint32_t event_assembler::oldest(const Predicate& is_it) const {
  for (auto h = events_.oldest(); h != event_assembly::none; h = events_.younger(h)) {
    if (is_it(events_[h])) return h;
  }
  return event_assembly::none;
}

} // namespace l3
