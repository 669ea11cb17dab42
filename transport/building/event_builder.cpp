// SPDX-License-Identifier: Apache-2.0
// A call of the event builder: what its owner does before and after its own work, and the calls of
// receive threads and of the clock.
#include "transport/building/event_builder.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace l3 {
namespace {

/// Time after which an event's missing fragments count as overdue: the fragments of an event are
/// sent within milliseconds.
constexpr auto overdue_after = std::chrono::milliseconds(250);

/// One ring may hold one part in this many of a batch: 16 rings leave half of it free.
constexpr std::size_t ring_share = 32;

} // namespace

event_builder::event_builder(const building_settings& settings, const batch_capacity& capacity,
                             std::chrono::nanoseconds batch_age, batch_pool& pool,
                             building_counters& counters, outcome_counters& outcomes,
                             std::function<void(const spill_summary&)> on_end_of_spill)
    : settings_(settings),
      slots_of_a_ring_(capacity.bytes / landing_area::region_bytes(settings.chunk_bytes) /
                       ring_share),
      batch_age_(batch_age), counters_(counters), outcomes_(outcomes),
      on_end_of_spill_(std::move(on_end_of_spill)), spills_(settings_),
      batches_(pool, settings.chunk_bytes), events_(settings_, capacity, batches_, counters),
      resolver_(settings_, spills_, events_), admission_(settings_, counters),
      candidate_(settings_) {
  assert(settings.crates.size() - 1 < most_crates && settings.max_chunks() < 64);
}

event_builder::memory event_builder::memory_plan(const building_settings& settings,
                                                 const batch_capacity& capacity) {
  return {parking::memory_plan(settings), spill_tracker::memory_plan(settings) +
                                              spill_resolver::memory_plan(settings) +
                                              event_assembler::memory_plan(settings, capacity)};
}

/// Waits for the present owner, sets the clock, takes what has landed, and does all due work.
event_builder::owner event_builder::own(time_point now) {
  owner me(mutex_);
  begin(now);
  settle();
  return me;
}

/// Sets the clock and takes what has landed. Other work that is due by time waits for the end of
/// the round.
void event_builder::begin(time_point now) {
  now_ = std::max(now_, now); // another thread may have become owner first with a later time
  without_frame_ = 0;         // a frame may be free again
  take_landed();
}

/// Takes what has landed in each ring by now, in turn: a limited number of datagrams, however fast
/// others land.
void event_builder::take_landed() {
  time_point read = never;
  time_point emptied = never;
  for (landing_ring* ring : rings_) {
    read = std::min(read, ring->read_up_to());
    emptied = std::min(emptied, ring->emptied_up_to());
    take_landed(*ring);
  }
  read_up_to_ = read;
  emptied_up_to_ = emptied;
}

void event_builder::take_landed(landing_ring& ring) {
  std::size_t landed = ring.landed();
  if (landed != 0) {
    if (!is_ready()) settle();
    for (; landed > 0; --landed) {
      on_datagram(ring.front(), ring.input());
      if (!is_settled()) settle();
      ring.pop();
    }
    refill(ring);
  }
  exchange_slots(ring);
}

/// Gives the used entries slots of the current batch, or of the ring's own memory if no batch has
/// room.
void event_builder::refill(landing_ring& ring) {
  if (ring.refill(batches_)) return;
  close_batch(false); // the batch is full
  if (!ring.refill(batches_)) ring.use_own_memory();
}

/// Replaces slots of a batch that has closed, unless the kernel may be writing into them.
void event_builder::exchange_slots(landing_ring& ring) {
  if (!ring.is_behind() || !ring.try_use()) return;
  ring.release();
  refill(ring);
  ring.end_use();
}

void event_builder::change_batch(input_batch* next) {
  batches_.move_to(next, now_);
  for (landing_ring* ring : rings_) {
    ring->change_batch();
    exchange_slots(*ring);
  }
}

/// Submits batches and reports ended spills.
void event_builder::finish() {
  counters_.spills.add(spills_.spills_begun() - counters_.spills);
  batches_.submit_finished();
  for (const auto& summary : due_) on_end_of_spill_(summary);
  due_.clear();
}

void event_builder::attach(landing_ring& ring) {
  const std::lock_guard me(mutex_);
  rings_.push_back(&ring);
}

void event_builder::detach(landing_ring& ring) {
  const auto me = own({});
  ring.release();
  std::erase(rings_, &ring);
  finish();
}

void event_builder::enter(landing_ring& ring, time_point now) {
  ring.begin_round(now);
  const bool entered = ring.try_use();
  if (entered && ring.free() > 0) return;
  const auto me = own(now); // the owner was exchanging slots, or the ring has none yet
  if (!entered) static_cast<void>(ring.try_use());
  refill(ring);
  finish();
}

void event_builder::land(landing_ring& ring, std::span<const datagram> datagrams) const {
  for (std::size_t n = 0; n < datagrams.size(); ++n) {
    const datagram& d = datagrams[n];
    landing_ring::entry& e = ring.free_entry(n);
    e.what = landing_ring::content::nothing;
    e.chunk.header = d.header;
    if (const auto why = look_at(e, d.bytes)) ring.input().refused.add(*why);
  }
  ring.land(datagrams.size());
}

void event_builder::take(landing_ring& ring, time_point now) {
  owner me(mutex_, std::try_to_lock);
  if (!me) {
    if (ring.free() > ring.size() / 4) return;
    me.lock();
  }
  begin(now);
  if (ring.is_behind()) { // this thread does not write now
    ring.release();
    refill(ring);
  }
  finish();
}

void event_builder::end_round(landing_ring& ring, time_point now, bool emptied) {
  ring.end_round(now, emptied);
  if (ring.is_half_full()) take(ring, now);
}

void event_builder::leave(landing_ring& ring, time_point now) {
  ring.end_use();
  build(now);
}

void event_builder::build(time_point now) {
  const owner me(mutex_, std::try_to_lock);
  if (!me) return;
  begin(now);
  settle();
  finish();
}

void event_builder::tick(time_point now) {
  const auto me = own(now);
  const time_point read = std::min(now_, emptied_up_to_); // no limit passed before that
  while (const auto chunk = resolver_.take_oldest(read - spill_resolver::patience)) {
    take_unnamed(*chunk);
    settle();
  }
  events_.count_overdue(read - overdue_after);
  for (event_assembly* e : events_.open_events()) {
    if (read - e->began_at < settings_.event_time_limit) break;
    events_.queue(*e);
  }
  settle();
  spills_.tick(read);
  close_if_old();
  settle();
  spills_.take_summaries(due_);
  finish();
}

bool event_builder::try_drain(time_point now) {
  const auto me = own(now);
  const bool all_ended = end_all(false);
  finish();
  return all_ended;
}

void event_builder::drain(time_point now) {
  const auto me = own(now);
  without_room_ = shed::drain;
  static_cast<void>(end_all(true));
  spills_.close_all();
  for (auto* stream : streams_) {
    if (stream->at_ != nullptr) set_aside(*stream);
  }
  change_batch(nullptr);
  settle();
  spills_.take_summaries(due_);
  finish();
}

/// Ends every event; events to be stored only if they have room, unless `with_those_without_room`.
/// Returns false if any are left.
bool event_builder::end_all(bool with_those_without_room) {
  while (const auto chunk = resolver_.take_oldest()) {
    take_unnamed(*chunk);
    settle();
  }
  const auto& open = events_.open_events();
  for (event_assembly* e : open)
    if (e->parked == nullptr) events_.queue(*e);
  settle(); // the others may need their frames
  for (event_assembly* e : open) {
    const bool is_kept = e->all_ended() || settings_.incomplete == incomplete_events::forward;
    events_.queue(*e, is_kept && !with_those_without_room ? assembly_state::ready
                                                          : assembly_state::due);
  }
  for (std::size_t before = open.size() + 1; open.size() < before;) {
    before = open.size();
    settle();
    if (open.empty()) break;
    close_batch(true); // its events must not wait for the rest
    without_frame_ = 0;
    settle();
  }
  return open.empty();
}

std::uint32_t event_builder::open_events() const {
  const std::lock_guard me(mutex_);
  return static_cast<std::uint32_t>(events_.open_events().size());
}

bool event_builder::between_spills() const {
  const std::lock_guard me(mutex_);
  return spills_.between_spills();
}

} // namespace l3
