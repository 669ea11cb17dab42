// SPDX-License-Identifier: Apache-2.0
// The event builder: one object that all receivers feed. It records which bytes of a batch are
// which chunk of which fragment, completes events, and enters them in the batch's tables; it copies
// bytes as rarely as possible. It counts the fate of every datagram, fragment and event.
//
// Locking: one mutex, taken once per batch of datagrams (or per record of a stream), and for the
// short calls around it. The mutex guards its parts (spill_tracker, unstated_chunks, assembly_pool,
// held_batches, parking, admission). The thread that notices the end of a spill calls the hook,
// without the lock. Receivers write into the memory of a batch without the lock, between enter()
// and leave(): a batch is submitted when it is closed and the last receiver has left it.
//
// The life of a chunk: it lands in a slot of a thread's strip; take() finds its spill, its event,
// its fragment. A chunk that does not name its spill goes to the spill of the latest sibling in its
// fragment, if that fragment lacks it; otherwise a copy of it waits for the next sibling. The slot
// of a new chunk becomes a piece (a short chunk is copied beside other short ones, and its slot is
// free again). A chunk is copied if it waited, if its event is parked, or if its slot belongs to a
// batch that closed meanwhile. A chunk that came before is compared. When the last chunk of the
// last fragment is there, the builder indexes the fragments and admits the event. At the time limit
// it gives an incomplete event up, or forwards it with a flag. A chunk that comes after the end of
// its event is counted as a duplicate if the event was complete, as late if it was not.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "transport/building/admission.hpp"
#include "transport/building/assembly.hpp"
#include "transport/building/held_batches.hpp"
#include "transport/building/landing_strip.hpp"
#include "transport/building/parking.hpp"
#include "transport/building/reading_rounds.hpp"
#include "transport/building/spill_tracker.hpp"
#include "transport/building/stream_landing.hpp"
#include "transport/building/unstated_chunks.hpp"
#include "transport/file/record_parser.hpp"
#include "transport/format/batch_capacity.hpp"

namespace l3 {

/// A datagram that has landed: its header, and which slot of the strip holds its payload.
struct datagram {
  l2::datagram_header header;
  std::uint32_t slot = 0;
  std::uint32_t bytes = 0; ///< of the payload, at most chunk_bytes
};

class event_builder {
public:
  /// Throws std::invalid_argument on impossible settings: too many crates, chunks too small.
  event_builder(const building_settings& settings, const batch_capacity& capacity,
                std::chrono::nanoseconds batch_age, batch_pool& pool, building_counters& counters,
                outcome_counters& outcomes,
                std::function<void(const spill_summary&)> on_end_of_spill);

  [[nodiscard]] const building_settings& settings() const { return settings_; }

  // Datagrams, each thread with a strip of its own.

  /// Gives the strip slots to write into. A round over the ports began at `now`, or later.
  void enter(landing_strip& strip, time_point now);
  /// Takes the datagrams that have landed, each slot at most once, gives the strip fresh slots, and
  /// counts refusals in `input`.
  void take(landing_strip& strip, std::span<const datagram> datagrams, input_counters& input,
            time_point now);
  /// The thread has read each of its ports once since enter() or the last end_round().
  void end_round(landing_strip& strip, time_point now);
  /// The thread writes no more until it enters again.
  void leave(landing_strip& strip);

  // Streams, each connection with a landing of its own.

  /// `hello`: the sequence number of the connection's hello.
  void attach(stream_landing& stream, std::uint64_t hello = 0);
  void detach(stream_landing& stream);
  /// Makes room for the body of an event record; false if no frame is free: ask again later.
  [[nodiscard]] bool reserve(stream_landing& stream, std::size_t bytes, time_point now);
  /// Where to write the body; it stays there until leave().
  [[nodiscard]] std::byte* enter(stream_landing& stream);
  /// `filled` bytes of the body have been written.
  void leave(stream_landing& stream, std::size_t filled);

  enum class stream_outcome : std::uint8_t { counted, wait, refused };
  struct stream_result {
    stream_outcome outcome =
        stream_outcome::counted;    ///< wait: no frame is free, ask again later with the same body
    std::uint64_t batch_serial = 0; ///< the record is safe when this batch and all before it are
    l3::refused reason = l3::refused::stream_content;
    bool known = false; ///< the event was taken before, with the same bytes
    event_key event{};  ///< of a record that is refused for stream_conflict
  };
  /// Takes the event record whose body has been written in full and whose checksum is right.
  stream_result take_event(stream_landing& stream, std::uint32_t spill, time_point now);
  stream_result begin_of_spill(stream_landing& stream, std::uint32_t spill, time_point now);
  stream_result end_of_spill(stream_landing& stream, std::uint32_t spill, std::uint64_t sequence,
                             std::uint32_t events, time_point now);

  // Both.

  /// Events that came again with other bytes, the first of each spill; each is returned once.
  [[nodiscard]] std::vector<event_key> fetch_conflicts();
  /// Looks at time limits, the age of the batch, ends of spill. Call it every few milliseconds.
  void tick(time_point now);
  /// Call when all receivers have stopped. Ends every event except complete ones for which no frame
  /// is free; false if there are any: ask again later.
  [[nodiscard]] bool try_drain(time_point now);
  /// Ends those too, as shed(drain), and submits the last batch.
  void drain(time_point now);

  [[nodiscard]] std::uint32_t open_events() const;
  /// Fragments seen whose event has not ended yet. Any thread, without the lock.
  [[nodiscard]] std::uint64_t open_fragments() const { return open_fragments_; }
  /// Events admitted into batches that are not submitted yet. Any thread, without the lock.
  [[nodiscard]] std::uint64_t batched_events() const { return batches_.events(); }
  /// Memory of the parking area, and of the tables, all allocated at the start. Any thread.
  [[nodiscard]] std::size_t parking_bytes() const { return parking_.bytes(); }
  [[nodiscard]] std::size_t table_bytes() const { return table_bytes_; }

private:
  /// A chunk to be taken.
  struct arrived_chunk {
    l2::datagram_header header;
    l2::fragment_place place;
    std::span<const std::byte> bytes;
    landing_strip* strip = nullptr; ///< where it landed; nullptr: it waited, and is copied again
    std::uint32_t slot = 0;         ///< of the strip
  };

  // Datagrams (event_builder.cpp).
  void on_datagram(landing_strip& strip, const datagram& d, input_counters& input);
  void on_chunk(landing_strip& strip, const datagram& d, input_counters& input);
  void on_trailer(const l2::datagram_header& h, input_counters& input);
  void on_end_of_spill(const l2::datagram_header& h, input_counters& input);
  void take_chunk(spill_table& spill, const arrived_chunk& c, bool stated);
  void take_trailer(spill_table& spill, const l2::datagram_header& h);
  void make_room_to_take(const arrived_chunk& c, bool begins);
  void add_chunk(std::uint32_t handle, const arrived_chunk& c);
  void compare_chunk(event_assembly& e, const arrived_chunk& c);
  void place_chunk(event_assembly& e, const arrived_chunk& c);
  void count_after_end(spill_table& spill, l2::fragment_place place, bool is_chunk);
  void see(fragment_assembly& f);
  void end_if_ended(std::uint32_t handle, bool ended_before, const fragment_assembly& f);

  // Chunks that do not name their spill (event_builder_unstated.cpp).
  void take_unstated(const arrived_chunk& c);
  [[nodiscard]] bool is_wanted(const arrived_chunk& c, std::uint32_t spill);
  void on_sibling(std::uint32_t fragment_id, std::uint32_t spill, input_counters& input);
  [[nodiscard]] arrived_chunk arrived(const unstated_chunks::waiting_chunk& w) const;
  void wait_no_more(const unstated_chunks::waiting_chunk& w);

  // Events (event_builder_events.cpp).
  /// May end other events, and with them spills.
  void make_room_to_open();
  std::uint32_t open_event(spill_table& spill, std::uint32_t number);
  void all_fragments_ended(std::uint32_t handle);
  void settle(std::uint32_t handle);
  void end_event(std::uint32_t handle);
  void settle_repeat(std::uint32_t handle);
  void settle_unconfirmed(std::uint32_t handle);
  void finish(const event_assembly& e, bool whole, bool admitted);
  void collect(const event_assembly& e);
  [[nodiscard]] bool store(event_assembly& e, event_key key, const admission::verdict& v);
  void make_room_to_store(std::uint32_t handle);
  [[nodiscard]] bool room_for_parked(const event_assembly& e);
  void release(std::uint32_t handle, bool stored);
  void expire();
  void retire(spill_table& spill);
  void admit_waiting();
  [[nodiscard]] bool is_due(const event_assembly& e) const;
  [[nodiscard]] std::uint32_t length_of(const fragment_assembly& f, std::uint32_t chunk) const;
  [[nodiscard]] std::uint32_t bytes_of(const fragment_assembly& f) const;
  [[nodiscard]] std::byte* memory_of(const event_assembly& e, std::uint32_t crate,
                                     std::uint32_t chunk);

  // Batches (event_builder_batches.cpp).
  void advance(time_point now);
  /// False if no other batch is free: the current one stays open, unless it may close
  /// `without_next`.
  bool close_batch(bool without_next);
  void close_if_full();
  void close_if_old();
  void park_open_events();
  void park(event_assembly& e);
  [[nodiscard]] std::uint32_t oldest_in(event_place place);
  void refill(landing_strip& strip);
  void end_waiting_chunks();
  [[nodiscard]] std::uint32_t oldest_with_room();

  // Streams (event_builder_streams.cpp).
  [[nodiscard]] bool make_room(stream_landing& stream, std::size_t bytes);
  void set_aside(stream_landing& stream);
  [[nodiscard]] stream_result counted() const;
  [[nodiscard]] bool is_repeat(const spill_table* spill, event_key key) const;
  void give_way_to_record(spill_table& spill, std::uint32_t number);
  void collect_record(const std::byte* memory);
  [[nodiscard]] stream_result take_repeat(event_key key, const std::byte* memory);
  void admit_stream_event(stream_landing& stream, event_key key);
  void leave_spill(stream_landing& stream);

  void call_hook(std::unique_lock<std::mutex>& lock);
  void collect_summaries();

  const building_settings settings_;
  const std::chrono::nanoseconds batch_age_;
  const std::uint32_t max_chunks_;
  building_counters& counters_;
  outcome_counters& outcomes_;
  std::function<void(const spill_summary&)> on_end_of_spill_;

  mutable std::mutex mutex_;
  time_point now_{}; // the latest time that any thread has told
  spill_tracker spills_;
  unstated_chunks unstated_;
  assembly_pool events_;
  held_batches batches_;
  parking parking_;
  const std::size_t table_bytes_; // counted once: asking the tables takes the lock
  admission admission_;
  /// Where open events lie: the current batch, except while that changes.
  batch_in_use* home_ = nullptr;
  std::uint32_t in_batch_ = 0;                    // open events in it
  std::uint32_t settling_ = event_assembly::none; // the event for which a batch is being closed
  std::uint32_t waiting_ = 0;                     // events whose fragments have all ended
  shed without_room_ = shed::no_frame;            // why a parked event without room is given up
  reading_rounds rounds_;
  std::uint32_t open_ = 0;
  std::atomic<std::uint64_t> open_fragments_ = 0;
  std::vector<arrived_fragment> arrived_;    // fragments of the event that ends now
  std::vector<piece_offset> arrived_pieces_; // offsets of its fragments that move as a whole
  event_view stream_event_;
  std::vector<stream_landing*> streams_;
  std::uint64_t streams_attached_ = 0;
  std::vector<event_key> conflicts_; // at most one a spill number until they are fetched
  std::vector<spill_summary> due_;
};

} // namespace l3
