// SPDX-License-Identifier: Apache-2.0
// Which event and which chunk: the events being assembled, and where their chunks lie. Nothing
// ends here: an event whose fragments have all ended waits in a queue until the event builder ends
// it. Guarded by the event builder's lock, except copy(): no other thread changes what it reads.
//
// A chunk stays where it landed if it landed in the batch of its event. Otherwise it is copied
// there. An event moves to the parking area when its batch must go, and loses its place if that is
// full too: then it is only counted.
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
#include "transport/building/landing_strip.hpp"
#include "transport/building/settings.hpp"
#include "transport/format/batch_capacity.hpp"

namespace l3 {

class event_assembler {
public:
  /// How long the true chunk can arrive after the datagrams that complete its event: a few rounds
  /// of a thread over its ports, or the time by which one thread is ahead of another.
  static constexpr std::chrono::nanoseconds doubt_limit = std::chrono::milliseconds(3);

  event_assembler(const building_settings& settings, const batch_capacity& capacity,
                  held_batches& batches, building_counters& counters);

  [[nodiscard]] event_assembly& operator[](std::uint32_t handle) { return events_[handle]; }
  [[nodiscard]] std::uint32_t open_events() const { return events_.size(); }
  /// Fragments seen whose event has not ended yet. Any thread, without the lock.
  [[nodiscard]] std::uint64_t open_fragments() const { return open_fragments_; }
  [[nodiscard]] static std::size_t memory_plan(const building_settings& settings,
                                               const batch_capacity& capacity);

  // Datagrams.

  /// No further event can be opened.
  [[nodiscard]] bool full() const { return events_.full(); }
  /// Opens the event in the current batch, or nowhere if that is full.
  std::uint32_t open(spill_table& spill, std::uint32_t number, time_point now);
  void add_chunk(std::uint32_t handle, const arrived_chunk& c, time_point now);
  /// A trailer that says how many chunks its fragment has.
  void add_trailer(std::uint32_t handle, std::uint32_t crate, std::uint32_t chunks, time_point now);
  /// Whether the event lacks the chunk, or is in doubt about it.
  [[nodiscard]] bool wants(std::uint32_t handle, const arrived_chunk& c) const;
  /// Whether a chunk of the crate's fragment is there.
  [[nodiscard]] bool has_chunks(std::uint32_t handle, std::uint32_t crate) const;

  // The queue of events that end next. None of these gives a busy event.

  /// Events that are ready or due.
  [[nodiscard]] std::size_t queued() const { return queue_.size(); }
  [[nodiscard]] bool any_in_doubt() const { return !doubtful_.empty(); }
  /// Doubt ends early when the threads have read every datagram that had arrived with the last one
  /// of the event, up to `read_up_to`.
  void end_doubts(time_point now, time_point read_up_to);
  /// The event ends next, whatever it lacks: it becomes ready or due.
  void queue(std::uint32_t handle, assembly_state as = assembly_state::due);
  /// The same of all events for which `as` does not give `filling`.
  template <typename StateOf>
  void queue_all(const StateOf& as);
  /// The first in the queue that is due, or is ready and `has_room`; event_assembly::none if there
  /// is none.
  template <typename Predicate>
  [[nodiscard]] std::uint32_t next(const Predicate& has_room) const;
  /// The event leaves the queue, and is busy until it is released.
  void judge(std::uint32_t handle);
  /// The oldest event with a property.
  template <typename Predicate>
  [[nodiscard]] std::uint32_t oldest(const Predicate& is_it) const;

  /// Counts once what events that began before `before` still wait for.
  void count_overdue(time_point before);

  // Moving and ending.

  [[nodiscard]] bool parking_is_full() const { return parking_.free() == 0; }
  struct chunk_copy {
    std::byte* to = nullptr;
    const std::byte* from = nullptr;
    std::size_t bytes = 0;
  };
  /// The event moves to the parking area, which must not be full: copy these, and call end_move().
  void begin_move(std::uint32_t handle, std::vector<chunk_copy>& copies);
  static void copy(std::span<const chunk_copy> copies);
  void end_move(std::uint32_t handle);

  /// Room that a parked event takes up in a batch.
  [[nodiscard]] std::size_t parked_bytes(const event_assembly& e) const;
  /// The fragments that were seen, in rising crate order.
  void collect(std::uint32_t handle, candidate_event& out);
  /// The event has ended. A stored one leaves its chunks in the batch.
  void release(std::uint32_t handle, bool stored);

private:
  void see(const event_assembly& e, std::uint32_t crate);
  static void hear_of(event_assembly& e, time_point now);
  void add_late(const event_assembly& e, std::uint32_t crate);
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
  std::deque<std::uint32_t> queue_;    // ready or due, in the order in which they became so
  std::vector<chunk_copy> copies_;
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
    return !e.busy() && (e.state == assembly_state::due || has_room(e));
  });
  return at == queue_.end() ? event_assembly::none : *at;
}

template <typename Predicate>
std::uint32_t event_assembler::oldest(const Predicate& is_it) const {
  for (auto h = events_.oldest(); h != event_assembly::none; h = events_.younger(h)) {
    if (!events_[h].busy() && is_it(events_[h])) return h;
  }
  return event_assembly::none;
}

} // namespace l3
