// SPDX-License-Identifier: Apache-2.0
// The events being assembled, and the places of their chunks. A fixed number of records exists from
// the start. No event ends here: when all its fragments have ended, it waits in a queue until the
// event builder ends it.
//
// A chunk that landed in the batch of its event stays there; any other chunk is copied into it. An
// event moves to the parking area when its batch must go. If that area is full too, the event loses
// its place and is only counted.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "transport/accounting/counters.hpp"
#include "transport/building/admission.hpp"
#include "transport/building/arrived_chunk.hpp"
#include "transport/building/held_batches.hpp"
#include "transport/building/settings.hpp"
#include "transport/building/spill_table.hpp"
#include "transport/format/batch_capacity.hpp"
#include "transport/format/time.hpp"

namespace l3 {

/// One bit for each of the first `n` chunks, n < 64.
constexpr std::uint64_t low_bits(std::uint32_t n) { return (std::uint64_t{1} << n) - 1; }

/// One cache line.
struct alignas(64) fragment_assembly {
  std::uint64_t have = 0;       ///< bit i: chunk i has arrived
  fragment_sums sums;           ///< of the arrived chunks
  std::uint32_t last_bytes = 0; ///< length of the last chunk, once it has arrived
  std::uint8_t chunks = 0;      ///< of the whole fragment; 0: not known yet
  bool seen = false;
  bool repeated = false; ///< a chunk came more than once
  bool gathered = false; ///< the last chunk is stored among other short ones
  bool trailer = false;  ///< its trailer has arrived
  /// A chunk came before any datagram that names its spill, so it may belong to another spill. Then
  /// the true chunk comes before the trailer or shortly after it.
  bool early = false;
  std::optional<malformed> problem;

  [[nodiscard]] bool whole() const { return chunks != 0 && have == low_bits(chunks); }
  /// Whether the builder waits for no more of its chunks.
  [[nodiscard]] bool ended() const {
    return (whole() && (!early || trailer)) || problem == malformed::chunk_count;
  }
};

/// An event is filling until all its fragments have ended. If a chunk may belong to another spill,
/// it is then briefly doubtful. It is ready to end when it has room, or due to end with or without
/// room.
enum class assembly_state : std::uint8_t { filling, doubtful, ready, due };

/// An event whose chunks are in a batch or in the parking area. If neither has room, the chunks are
/// discarded, and the event is only counted. It fills whole cache lines.
struct alignas(64) event_assembly {
  spill_table* spill = nullptr;
  std::uint32_t number = 0;
  time_point began_at{};
  assembly_state state = assembly_state::filling;
  time_point doubtful_until{};
  batch_in_use* batch = nullptr; ///< its batch, if it has one
  std::byte* parked = nullptr;   ///< its memory in the parking area, if it is there
  std::uint32_t ended = 0;       ///< number of ended fragments
  bool verified = false;         ///< a datagram of the event named its spill
  bool overdue = false;          ///< it has waited long, and its missing fragments are counted

  std::span<fragment_assembly> fragments; ///< by crate
  std::span<piece_offset> pieces;         ///< `max_chunks` per fragment; offsets in the batch
  std::span<std::uint16_t> board_slots;   ///< likewise; from the chunks' summaries

  [[nodiscard]] bool all_ended() const { return ended == fragments.size(); }
  [[nodiscard]] bool has_place() const { return batch != nullptr || parked != nullptr; }
};

/// Memory for events that wait outside the frames. A parked fragment is contiguous: chunk i is at i
/// × chunk_bytes.
class parking {
public:
  explicit parking(const building_settings& s)
      : chunk_bytes_(s.chunk_bytes), fragment_bytes_(chunk_bytes_ * s.max_chunks()),
        memory_(memory_plan(s)) {
    const std::size_t event_bytes = fragment_bytes_ * s.crates.size();
    for (std::size_t e = s.parked_events; e > 0; --e)
      free_.push_back(memory_.data() + (e - 1) * event_bytes);
  }

  [[nodiscard]] bool full() const { return free_.empty(); }
  /// Memory for one event; the area must not be full.
  [[nodiscard]] std::byte* take() {
    std::byte* const event = free_.back();
    free_.pop_back();
    return event;
  }
  void give_back(std::byte* event) { free_.push_back(event); }
  [[nodiscard]] static std::size_t memory_plan(const building_settings& s) {
    return std::size_t{s.chunk_bytes} * s.max_chunks() * s.crates.size() * s.parked_events;
  }

  [[nodiscard]] std::byte* chunk(std::byte* event, std::uint32_t crate, std::uint32_t index) const {
    return event + crate * fragment_bytes_ + index * chunk_bytes_;
  }

private:
  std::size_t chunk_bytes_;
  std::size_t fragment_bytes_;
  std::vector<std::byte> memory_;
  std::vector<std::byte*> free_;
};

class event_assembler {
public:
  /// The longest time from the datagrams that complete an event to the true chunk: a few rounds of
  /// a thread over its ports, or the time by which one thread is ahead of another.
  static constexpr std::chrono::nanoseconds doubt_limit = std::chrono::milliseconds(3);

  event_assembler(const building_settings& settings, const batch_capacity& capacity,
                  held_batches& batches, building_counters& counters);

  [[nodiscard]] event_assembly& operator[](std::uint32_t handle) { return events_[handle]; }
  [[nodiscard]] const event_assembly& operator[](std::uint32_t handle) const {
    return events_[handle];
  }
  /// The open events, in the order in which they began, which is also the order of their time
  /// limits.
  [[nodiscard]] const std::vector<event_assembly*>& open_events() const { return open_; }
  /// Seen fragments whose event has not ended yet. Any thread.
  [[nodiscard]] std::uint64_t open_fragments() const { return open_fragments_; }
  [[nodiscard]] static std::size_t memory_plan(const building_settings& settings,
                                               const batch_capacity& capacity);

  // Datagrams.

  /// Whether no further event can be opened.
  [[nodiscard]] bool full() const { return free_.empty(); }
  /// Opens the event in the current batch, or nowhere if that is full.
  event_assembly& open(spill_table& spill, std::uint32_t number, time_point now);
  void add_chunk(event_assembly& e, const arrived_chunk& c, time_point now);
  /// Adds a trailer, which gives the number of its fragment's chunks.
  void add_trailer(event_assembly& e, std::uint32_t crate, std::uint32_t chunks, time_point now);

  // The queue of ending events.

  /// Number of events that are ready or due.
  [[nodiscard]] std::size_t queued() const { return queue_.size(); }
  [[nodiscard]] bool any_in_doubt() const { return !doubtful_.empty(); }
  /// Doubt ends early when the threads have read all datagrams that arrived no later than the
  /// event's last one, up to `read_up_to`.
  void end_doubts(time_point now, time_point read_up_to);
  /// Queues the event, complete or not, as ready or due; not as `filling`.
  void queue(event_assembly& e, assembly_state as = assembly_state::due);
  /// The first event in the queue that is due, or is ready and `has_room`; nullptr if there is
  /// none.
  template <typename Predicate>
  [[nodiscard]] event_assembly* next(const Predicate& has_room) const {
    const auto at = std::ranges::find_if(queue_, [&](const event_assembly* e) {
      return e->state == assembly_state::due || has_room(*e);
    });
    return at == queue_.end() ? nullptr : *at;
  }
  /// Returns the oldest event that satisfies `is_it`, or nullptr.
  template <typename Predicate>
  [[nodiscard]] event_assembly* oldest(const Predicate& is_it) const {
    const auto at = std::ranges::find_if(open_, [&](const event_assembly* e) { return is_it(*e); });
    return at == open_.end() ? nullptr : *at;
  }

  /// Counts once the missing fragments of events that began before `before`.
  void count_overdue(time_point before);

  // Moving and ending.

  [[nodiscard]] bool parking_is_full() const { return parking_.full(); }
  /// Moves the event to the parking area, which must not be full.
  void park(event_assembly& e);

  /// Room that a parked event needs in a batch.
  [[nodiscard]] std::size_t parked_bytes(const event_assembly& e) const;
  /// Collects the seen fragments, sorted by crate.
  void collect(const event_assembly& e, candidate_event& out);
  /// Ends the event. A stored one leaves its chunks in the batch.
  void release(event_assembly& e, bool stored);

private:
  void see(event_assembly& e, std::uint32_t crate, time_point now);
  void compare_chunk(const event_assembly& e, const arrived_chunk& c);
  [[nodiscard]] bool place_in_batch(event_assembly& e, fragment_assembly& f,
                                    const arrived_chunk& c);
  void place_elsewhere(event_assembly& e, const arrived_chunk& c);
  void end_if_ended(event_assembly& e, bool ended_before, const fragment_assembly& f,
                    time_point now);
  void leave_batch(event_assembly& e, bool stored);
  [[nodiscard]] std::uint32_t length_of(const fragment_assembly& f, std::uint32_t chunk) const;
  [[nodiscard]] std::uint32_t bytes_of(const fragment_assembly& f) const;
  [[nodiscard]] piece_offset& piece(const event_assembly& e, std::uint32_t crate,
                                    std::uint32_t chunk) const {
    return e.pieces[crate * max_chunks_ + chunk];
  }
  [[nodiscard]] const std::byte* memory_of(const event_assembly& e, std::uint32_t crate,
                                           std::uint32_t chunk) const;

  const building_settings& settings_;
  const std::uint32_t max_chunks_;
  held_batches& batches_;
  building_counters& counters_;
  std::vector<fragment_assembly> fragments_; // of all events, like the next two
  std::vector<piece_offset> pieces_;
  std::vector<std::uint16_t> board_slots_;
  std::vector<event_assembly> events_;
  std::vector<event_assembly*> free_;
  std::vector<event_assembly*> open_;
  parking parking_;
  std::deque<event_assembly*> doubtful_; // in the order in which their doubt ends
  std::deque<event_assembly*> queue_;    // ready or due, in that order
  std::atomic<std::uint64_t> open_fragments_ = 0;
};

} // namespace l3
