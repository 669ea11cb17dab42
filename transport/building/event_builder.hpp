// SPDX-License-Identifier: Apache-2.0
// The event builder that all receivers feed. It records which bytes of a batch are which chunk of
// which fragment, completes events, and enters them in the batch's tables. It copies bytes as
// rarely as possible and counts the outcome of every datagram, fragment and event.
//
// Three parts can be read alone: spill_resolver finds the spill of a datagram among the spills of
// spill_tracker, event_assembler finds its event and chunk, and admission judges an event. This
// class connects them.
//
// Locking: one mutex guards all parts. It is taken once for the datagrams that have landed in a
// strip, or for a record of a stream. A call sets the clock (begin), takes its input, and ends
// events in one place (settle): between two datagrams and before the lock is released, never inside
// a datagram. settle() releases the lock while it reads or copies an event (the event is then busy,
// and no other thread ends it), submits a batch, or clears the table of a finished spill. finish()
// releases the lock for good and calls the hook for ended spills. A receive thread that finds the
// lock taken continues to read as long as its strip has room.
//
// The life of a chunk: it lands in a slot of a thread's strip; land() reads the boards in it
// (arrived_chunk.hpp); take() finds its spill, its event, its fragment. A chunk that does not name
// its spill goes to the spill of the latest sibling in its fragment, if that fragment lacks it;
// otherwise a copy of it waits for the next sibling. The slot of a new chunk becomes a piece (a
// short chunk is copied beside other short ones, and its slot is free again). A chunk is copied if
// it waited, if its event is parked, or if its slot belongs to another batch than its event. A
// repeated chunk is compared. When the last chunk of the last fragment has arrived, the builder
// reads the fragments and admits the event. At the time limit it gives up an incomplete event, or
// forwards it with a flag. A chunk that comes after the end of its event is late.
//
// The life of a batch: it is current while events begin in it, and closes when it is full or old.
// Its open events may end in it while their datagrams come; the others are parked. It is submitted
// when it has no open event left and no receiver writes into it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "transport/building/admission.hpp"
#include "transport/building/event_assembler.hpp"
#include "transport/building/held_batches.hpp"
#include "transport/building/landing_strip.hpp"
#include "transport/building/spill_resolver.hpp"
#include "transport/building/spill_tracker.hpp"
#include "transport/file/record_parser.hpp"
#include "transport/format/batch_capacity.hpp"
#include "transport/system/threads.hpp"

namespace l3 {

class event_builder {
public:
  /// Throws std::invalid_argument for impossible settings: too many crates, chunks too small.
  event_builder(const building_settings& settings, const batch_capacity& capacity,
                std::chrono::nanoseconds batch_age, batch_pool& pool, building_counters& counters,
                outcome_counters& outcomes,
                std::function<void(const spill_summary&)> on_end_of_spill);

  [[nodiscard]] const building_settings& settings() const { return settings_; }

  // Datagrams. Each thread has its own strip.

  /// Gives the strip slots to write into. The current round over the ports began at `now` or later.
  void enter(landing_strip& strip, time_point now);
  /// Datagrams have landed in the strip's free slots, in this order. Reads them, counts refusals in
  /// `input`, and keeps them in the strip until they are taken. Without the lock.
  void land(landing_strip& strip, std::span<const datagram> datagrams, input_counters& input) const;
  /// Takes the landed datagrams, and gives the strip new slots.
  void take(landing_strip& strip, input_counters& input, time_point now);
  /// Calls take() if enough has landed to be worth the lock. While another thread has the lock, it
  /// does so only if few slots are free, so that the thread continues to read.
  void take_in_time(landing_strip& strip, input_counters& input, time_point now);
  /// Call it when the thread has read each of its ports once since enter() or the last end_round().
  /// Takes landed datagrams in time. `emptied`: see landing_strip::end_round().
  void end_round(landing_strip& strip, input_counters& input, time_point now, bool emptied = false);
  /// Takes the landed datagrams. The thread writes no more until it enters again.
  void leave(landing_strip& strip, input_counters& input, time_point now);

  // Streams. Each connection has its own landing.

  /// `hello`: the sequence number of the connection's hello.
  void attach(stream_landing& stream, std::uint64_t hello = 0);
  void detach(stream_landing& stream);
  /// Reserves room for the body of an event record. Returns false if no frame is free: try again
  /// later.
  [[nodiscard]] bool reserve(stream_landing& stream, std::size_t bytes, time_point now);
  /// Returns where to write the body; it stays there until leave().
  [[nodiscard]] std::byte* enter(stream_landing& stream);
  /// `filled` bytes of the body have been written.
  void leave(stream_landing& stream, std::size_t filled);

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
  /// time limit counts as passed when every thread has found its ports empty after it. `strip`: of
  /// the calling receive thread.
  void tick(time_point now, const landing_strip* strip = nullptr);
  /// Call it when all receivers have stopped. Ends every event except complete ones without a free
  /// frame. Returns false if there are any: try again later.
  [[nodiscard]] bool try_drain(time_point now);
  /// Also ends complete events without a frame, as shed(drain), and submits the last batch.
  void drain(time_point now);

  [[nodiscard]] std::uint32_t open_events() const;
  /// See spill_tracker.
  [[nodiscard]] bool between_spills() const;
  /// Seen fragments whose event has not ended yet. Any thread, without the lock.
  [[nodiscard]] std::uint64_t open_fragments() const { return events_.open_fragments(); }
  /// Events admitted into unsubmitted batches. Any thread, without the lock.
  [[nodiscard]] std::uint64_t batched_events() const { return batches_.events(); }
  /// Whether no event is open or waits for its batch to be submitted, so that no time limit is
  /// pending.
  [[nodiscard]] bool is_quiet() const { return open_fragments() == 0 && batched_events() == 0; }
  struct memory {
    std::size_t parking = 0;
    std::size_t tables = 0;
  };
  /// The memory that it allocates, all at the start.
  [[nodiscard]] static memory memory_plan(const building_settings& settings,
                                          const batch_capacity& capacity);

private:
  using locked = std::unique_lock<spinning_mutex>;

  // In event_builder.cpp: a call.
  [[nodiscard]] locked lock_at(time_point now);
  void set_clock(time_point now);
  void take_landed(landing_strip& strip, input_counters& input, locked& lock);
  [[nodiscard]] locked begin(time_point now);
  void finish(locked lock);
  void submit_finished(locked& lock);

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
  void settle(locked& lock);
  [[nodiscard]] std::uint32_t due();
  [[nodiscard]] bool end_all(bool with_those_without_room, locked& lock);
  void end(std::uint32_t handle, locked& lock);
  [[nodiscard]] bool is_repeat(const event_assembly& e) const;
  void end_as_late(std::uint32_t handle);
  void admit(std::uint32_t handle, candidate_event& candidate, locked& lock);
  [[nodiscard]] bool store(const event_assembly& e, candidate_event& candidate, locked& lock);
  void write(const candidate_event& candidate, batch_in_use& batch, locked& lock,
             const std::function<void()>& copy = {});
  static void finish_in_table(const event_assembly& e, bool whole, bool admitted);
  [[nodiscard]] std::unique_ptr<candidate_event> take_candidate();

  // In event_builder_batches.cpp: batches.
  /// Returns false if no other batch is free: the current one stays open, unless it may close
  /// `without_next`.
  bool close_batch(bool without_next);
  void close_if_full();
  void close_if_old();
  [[nodiscard]] bool make_room_for(const event_assembly& e);
  [[nodiscard]] bool empty(batch_in_use& batch, locked& lock);
  void refill(landing_strip& strip);

  // In event_builder_datagrams.cpp: datagrams.
  void look_at(landing_strip& strip, const datagram& d, input_counters& input) const;
  [[nodiscard]] std::optional<refused>
  refusal_of(const l2::datagram_header& h, std::uint32_t event_number, std::uint32_t bytes) const;
  void on_datagram(landing_strip& strip, const datagram& d, input_counters& input);
  void on_chunk(const arrived_chunk& c, input_counters& input);
  void on_trailer(const l2::datagram_header& h, input_counters& input);
  void on_end_of_spill(const l2::datagram_header& h, input_counters& input);
  void take_chunk(const arrived_chunk& c, spill_table& spill);
  void take_waiting(std::uint32_t fragment_id, spill_table* spill, input_counters& input);
  void take_unnamed(const spill_resolver::unnamed_chunk& c);
  void take_trailer(spill_table& spill, const l2::datagram_header& h);
  [[nodiscard]] std::uint32_t event_of(spill_table& spill, std::uint32_t number);
  void count_late(spill_table& spill, l2::fragment_place place);
  void count_as_seen(event_key key, std::uint32_t crate);
  void refuse_spill(event_key named, std::uint32_t crate, input_counters& input);

  // In event_builder_streams.cpp: streams.
  [[nodiscard]] bool make_room(stream_landing& stream, std::size_t bytes);
  void set_aside(stream_landing& stream);
  void give_room_back(stream_landing& stream);
  [[nodiscard]] bool move_into_batch(stream_landing& stream, locked& lock);
  [[nodiscard]] stream_result counted() const;
  [[nodiscard]] std::optional<refused> look_into_record(stream_landing& stream,
                                                        std::span<const std::byte> body,
                                                        std::uint32_t spill,
                                                        candidate_event& candidate) const;
  [[nodiscard]] stream_result take_record(stream_landing& stream, candidate_event& candidate,
                                          locked& lock);
  [[nodiscard]] bool is_repeat(const candidate_event& record, const spill_table* spill) const;
  [[nodiscard]] stream_result take_repeat(const candidate_event& record);
  [[nodiscard]] bool give_way_to_record(spill_table& spill, std::uint32_t event_number);
  void admit_record(stream_landing& stream, candidate_event& candidate, spill_table* spill,
                    locked& lock);
  void leave_spill(stream_landing& stream);

  const building_settings settings_;
  const std::uint32_t crates_;
  const std::uint32_t max_chunks_;
  const std::chrono::nanoseconds batch_age_;
  building_counters& counters_;
  outcome_counters& outcomes_;
  std::function<void(const spill_summary&)> on_end_of_spill_;

  mutable spinning_mutex mutex_;
  time_point now_{}; // the latest time of any thread
  spill_tracker spills_;
  held_batches batches_;
  event_assembler events_;
  spill_resolver resolver_;
  admission admission_;
  std::size_t without_frame_ = 0;      // ready events that settle() could not end in this call
  shed without_room_ = shed::no_frame; // why a parked event without room is given up
  reading_rounds rounds_;
  std::vector<std::unique_ptr<candidate_event>> candidates_; // free ones; as many as threads
  std::vector<stream_landing*> streams_;
  std::uint64_t streams_attached_ = 0;
  std::vector<spill_summary> due_;
  bool submitting_ = false; // a thread submits without the lock
  bool reporting_ = false;  // likewise
};

} // namespace l3
