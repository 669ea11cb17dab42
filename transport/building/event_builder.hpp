// SPDX-License-Identifier: Apache-2.0
// The event builder that all receivers feed. It records which bytes of a batch are which chunk of
// which fragment, completes events, and enters them in the batch's tables. It copies bytes as
// rarely as possible and counts the outcome of every datagram, fragment and event
// (docs/follow-an-event.md).
//
// Three parts can be read alone: spill_resolver finds the spill of a datagram among the spills of
// spill_tracker, event_assembler finds its event and chunk, and admission judges an event. This
// class connects them.
//
// One thread at a time owns the builder, for a whole call: it sets the clock, takes what has landed
// in the rings of all receive threads (landing_ring.hpp), does its own work, and ends events in one
// place (settle), between two datagrams and never inside one. It hands nothing over in between. A
// receive thread that finds the builder taken continues to read as long as its ring has room: the
// owner may take its datagrams, or it becomes the next owner. Reading, checking and summarizing a
// datagram, and the checksum and the fragments of a record, need no owner.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "transport/building/admission.hpp"
#include "transport/building/event_assembler.hpp"
#include "transport/building/held_batches.hpp"
#include "transport/building/landing_ring.hpp"
#include "transport/building/spill_resolver.hpp"
#include "transport/building/spill_tracker.hpp"
#include "transport/building/stream_landing.hpp"
#include "transport/format/batch_capacity.hpp"

namespace l3 {

/// Returns why event building refuses a datagram with a payload of `bytes`. If it returns nothing,
/// `place` is that of the fragment; for an end of spill it has only the crate.
[[nodiscard]] std::optional<refused> refusal_of(const l2::datagram_header& h, std::size_t bytes,
                                                const building_settings& s,
                                                l2::fragment_place& place);

class event_builder {
public:
  /// The configuration has checked the settings: at most `most_crates` crates; the longest fragment
  /// has fewer than 64 chunks, of a multiple of 4 bytes; a batch has at most 4 GiB.
  event_builder(const building_settings& settings, const batch_capacity& capacity,
                std::chrono::nanoseconds batch_age, batch_pool& pool, building_counters& counters,
                outcome_counters& outcomes,
                std::function<void(const spill_summary&)> on_end_of_spill);

  [[nodiscard]] const building_settings& settings() const { return settings_; }

  // Datagrams. Each receive thread has its own ring.

  /// The most entries of a ring, so that its slots are a small part of a batch.
  [[nodiscard]] std::size_t slots_of_a_ring() const { return slots_of_a_ring_; }
  void attach(landing_ring& ring);
  void detach(landing_ring& ring);
  /// The thread begins to write into the ring's slots. The current round over the ports began at
  /// `now` or later.
  void enter(landing_ring& ring, time_point now);
  /// Datagrams have landed in the ring's next free entries, in this order. Reads them, counts
  /// refusals, and hands them over. Needs no owner.
  void land(landing_ring& ring, std::span<const datagram> datagrams) const;
  /// Takes what has landed, between enter() and leave(). If another thread owns the builder, it
  /// waits only if few entries of the ring are free.
  void take(landing_ring& ring, time_point now);
  /// Call it when the thread has read each of its ports once since enter() or the last end_round().
  /// Calls take() if the ring is half full. `emptied`: see landing_ring::end_round().
  void end_round(landing_ring& ring, time_point now, bool emptied = false);
  /// The thread writes no more until it enters again. Calls build().
  void leave(landing_ring& ring, time_point now);
  /// Takes what has landed, and ends events, unless another thread owns the builder: then that one,
  /// or the next call of any thread, does so.
  void build(time_point now);

  // Streams. Each connection has its own landing.

  /// `hello`: the sequence number of the connection's hello.
  void attach(stream_landing& stream, std::uint64_t hello = 0);
  void detach(stream_landing& stream);
  /// Reserves room for the body of an event record. Returns false if no frame is free: try again
  /// later.
  [[nodiscard]] bool reserve(stream_landing& stream, std::size_t bytes, time_point now);
  /// Returns where to write the body; it stays there until leave().
  [[nodiscard]] std::byte* enter(stream_landing& stream);
  /// `filled` bytes of the body have been written. Needs no owner.
  static void leave(stream_landing& stream, std::size_t filled);

  enum class stream_outcome : std::uint8_t { counted, wait, refused };
  struct stream_result {
    stream_outcome outcome =
        stream_outcome::counted;    ///< wait: no frame is free, try again later with the same body
    std::uint64_t batch_serial = 0; ///< the record is safe when this and all earlier batches are
    l3::refused reason = l3::refused::stream_content;
    bool known = false; ///< the event came before with the same bytes
    event_key event{};  ///< of a record refused for stream_conflict
  };
  /// Takes an event record after its body has been written and its checksum verified.
  stream_result take_event(stream_landing& stream, std::uint32_t spill, time_point now);
  stream_result begin_of_spill(stream_landing& stream, std::uint32_t spill, time_point now);
  stream_result end_of_spill(stream_landing& stream, std::uint32_t spill, std::uint64_t sequence,
                             std::uint32_t events, time_point now);

  // For both.

  /// Checks time limits, the age of the batch, and ends of spill. Call it every few milliseconds. A
  /// time limit counts as passed when every thread has found its ports empty after it.
  void tick(time_point now);
  /// Call it when all receivers have stopped. Ends every event except complete ones without a free
  /// frame. Returns false if there are any: try again later.
  [[nodiscard]] bool try_drain(time_point now);
  /// Also ends complete events without a frame, as shed(drain), and submits the last batch.
  void drain(time_point now);

  [[nodiscard]] std::uint32_t open_events() const;
  /// See spill_tracker.
  [[nodiscard]] bool between_spills() const;
  /// Seen fragments whose event has not ended yet. Any thread.
  [[nodiscard]] std::uint64_t open_fragments() const { return events_.open_fragments(); }
  /// Events admitted into unsubmitted batches. Any thread.
  [[nodiscard]] std::uint64_t batched_events() const { return batches_.events(); }
  /// Whether no event is open or waits for its batch to be submitted, so that no time limit is
  /// pending.
  [[nodiscard]] bool is_quiet() const { return open_fragments() == 0 && batched_events() == 0; }
  struct memory {
    std::size_t parking = 0;
    std::size_t tables = 0;
  };
  /// The most memory that it allocates.
  [[nodiscard]] static memory memory_plan(const building_settings& settings,
                                          const batch_capacity& capacity);

private:
  using owner = std::unique_lock<std::mutex>;

  // In event_builder.cpp: a call.
  [[nodiscard]] owner own(time_point now);
  void begin(time_point now);
  void take_landed();
  void take_landed(landing_ring& ring);
  void refill(landing_ring& ring);
  void exchange_slots(landing_ring& ring);
  void change_batch(input_batch* next);
  void finish();

  // In event_builder_events.cpp: the end of events.
  /// Whether settle() finds no work, unless time passes or the pool gets a batch.
  [[nodiscard]] bool is_settled() {
    return events_.queued() == without_frame_ && has_places() &&
           (batches_.current() == nullptr || batch_has_room());
  }
  /// Whether there is room for any datagram. Only settle() makes room.
  [[nodiscard]] bool is_ready() { return has_places() && batch_has_room(); }
  [[nodiscard]] bool has_places() const {
    return !events_.full() && !resolver_.full() && !spills_.any_over();
  }
  [[nodiscard]] bool batch_has_room() {
    const auto* batch = batches_.current();
    return batch != nullptr && !batch->is_full() && batch->landing.has_slot();
  }
  void settle();
  [[nodiscard]] event_assembly* due();
  [[nodiscard]] bool end_all(bool with_those_without_room);
  void end(event_assembly& e);
  void end_as_late(event_assembly& e);
  void admit(event_assembly& e);
  [[nodiscard]] bool store(const event_assembly& e);
  void write(const candidate_event& candidate, batch_in_use& batch);
  static void finish_in_table(const event_assembly& e, bool whole, bool admitted);

  // Likewise: batches.
  /// Returns false if no other batch is free: the current one stays open, unless it may close
  /// `without_next`.
  bool close_batch(bool without_next);
  void close_if_full();
  void close_if_old();
  [[nodiscard]] bool find_room(std::size_t bytes);
  [[nodiscard]] bool make_room_for(const event_assembly& e);
  [[nodiscard]] bool empty(batch_in_use& batch);

  // In event_builder_datagrams.cpp: datagrams.
  [[nodiscard]] std::optional<refused> look_at(landing_ring::entry& e, std::uint32_t bytes) const;
  void on_datagram(landing_ring::entry& e, input_counters& input);
  void on_chunk(const arrived_chunk& c, input_counters& input);
  void on_trailer(const arrived_chunk& c, input_counters& input);
  void on_end_of_spill(const arrived_chunk& c, input_counters& input);
  void take_chunk(const arrived_chunk& c, spill_table& spill);
  void take_waiting(std::uint32_t fragment_id, spill_table* spill, input_counters& input);
  void take_unnamed(const spill_resolver::unnamed_chunk& c);
  void take_trailer(spill_table& spill, const arrived_chunk& c);
  [[nodiscard]] event_assembly& event_of(spill_table& spill, std::uint32_t number);
  void count_late(spill_table& spill, l2::fragment_place place);
  void count_as_seen(event_key key, std::uint32_t crate);
  void refuse_spill(event_key named, std::uint32_t crate, input_counters& input);

  // In event_builder_streams.cpp: streams.
  [[nodiscard]] bool make_room(stream_landing& stream, std::size_t bytes);
  void set_aside(stream_landing& stream);
  void give_room_back(stream_landing& stream);
  [[nodiscard]] bool move_into_batch(stream_landing& stream);
  [[nodiscard]] stream_result counted() const;
  [[nodiscard]] std::optional<refused> look_into_record(stream_landing& stream,
                                                        std::span<const std::byte> body,
                                                        std::uint32_t spill) const;
  [[nodiscard]] stream_result take_record(stream_landing& stream);
  [[nodiscard]] bool is_repeat(const candidate_event& record, const spill_table* spill) const;
  [[nodiscard]] stream_result take_repeat(const candidate_event& record);
  void give_way_to_record(spill_table& spill, std::uint32_t event_number);
  void admit_record(stream_landing& stream, spill_table* spill);
  void leave_spill(stream_landing& stream);

  const building_settings settings_;
  const std::size_t slots_of_a_ring_;
  const std::chrono::nanoseconds batch_age_;
  building_counters& counters_;
  outcome_counters& outcomes_;
  std::function<void(const spill_summary&)> on_end_of_spill_;

  mutable std::mutex mutex_; // held by the owner
  time_point now_{};         // the latest time of any thread
  spill_tracker spills_;
  held_batches batches_;
  event_assembler events_;
  spill_resolver resolver_;
  admission admission_;
  std::size_t without_frame_ = 0;      // ready events that settle() could not end in this call
  shed without_room_ = shed::no_frame; // why a parked event without room is given up
  candidate_event candidate_;          // reused for each event from datagrams
  std::vector<landing_ring*> rings_;
  time_point read_up_to_{};          // datagrams that had arrived by then have been taken
  time_point emptied_up_to_ = never; // likewise, behind any queue
  std::vector<stream_landing*> streams_;
  std::uint64_t streams_attached_ = 0;
  std::vector<spill_summary> due_;
};

} // namespace l3
