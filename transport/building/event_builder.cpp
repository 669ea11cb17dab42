// SPDX-License-Identifier: Apache-2.0
// A call of the event builder, from taking the lock to the work after it.
#include "transport/building/event_builder.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

namespace l3 {
namespace {

constexpr std::uint32_t max_crates = most_crates;
constexpr std::uint32_t max_chunk_count = 64; // one bit each in a word

/// Time after which an event's missing fragments count as overdue: the fragments of an event are
/// sent within milliseconds.
constexpr auto overdue_after = std::chrono::milliseconds(250);

const building_settings& checked(const building_settings& s, const batch_capacity& c) {
  const auto refuse = [](const std::string& why) {
    throw std::invalid_argument("event building: " + why);
  };
  if (s.crates.size() == 0 || s.crates.size() > max_crates)
    refuse("a readout has 1 to " + std::to_string(max_crates) + " crates");
  constexpr auto min_chunk =
      round_up((l2::max_fragment_bytes + max_chunk_count - 1) / max_chunk_count, 4);
  if (s.chunk_bytes % 4 != 0 || s.chunk_bytes < min_chunk)
    refuse("chunk_bytes must be a multiple of 4, at least " + std::to_string(min_chunk));
  if (s.max_events_per_spill == 0) refuse("max_events_per_spill must not be 0");
  if (c.events == 0) refuse("a batch must hold at least one event");
  if (c.bytes > std::numeric_limits<piece_offset>::max())
    refuse("a batch may have at most 4 GiB; use fewer events per batch");
  return s;
}

} // namespace

event_builder::event_builder(const building_settings& settings, const batch_capacity& capacity,
                             std::chrono::nanoseconds batch_age, batch_pool& pool,
                             building_counters& counters, outcome_counters& outcomes,
                             std::function<void(const spill_summary&)> on_end_of_spill)
    : settings_(checked(settings, capacity)), crates_(settings.crates.size()),
      max_chunks_(settings.max_chunks()), batch_age_(batch_age), counters_(counters),
      outcomes_(outcomes), on_end_of_spill_(std::move(on_end_of_spill)), spills_(settings_),
      batches_(pool, settings.chunk_bytes), events_(settings_, capacity, batches_, counters),
      resolver_(settings_, spills_, events_), admission_(settings_, counters) {}

event_builder::memory event_builder::memory_plan(const building_settings& settings,
                                                 const batch_capacity& capacity) {
  return {parking::memory_plan(settings), spill_tracker::memory_plan(settings) +
                                              spill_resolver::memory_plan(settings) +
                                              event_assembler::memory_plan(settings, capacity)};
}

/// Takes the lock and sets the clock.
event_builder::locked event_builder::lock_at(time_point now) {
  locked lock(mutex_);
  set_clock(now);
  return lock;
}

void event_builder::set_clock(time_point now) {
  now_ = std::max(now_, now); // another thread may have got the lock first with a later time
  without_frame_ = 0;         // a frame may be free again
}

/// Takes the lock, sets the clock, and does all due work.
event_builder::locked event_builder::begin(time_point now) {
  auto lock = lock_at(now);
  settle(lock);
  return lock;
}

/// Submits batches, releases the lock, and reports ended spills. One thread reports at a time, so
/// that the latest sums of a spill are reported last.
void event_builder::finish(locked lock) {
  counters_.spills.add(spills_.spills_begun() - counters_.spills);
  submit_finished(lock);
  while (!reporting_ && !due_.empty()) {
    reporting_ = true;
    const auto ended = std::exchange(due_, {});
    lock.unlock();
    for (const auto& summary : ended) on_end_of_spill_(summary);
    lock.lock();
    reporting_ = false;
  }
}

/// Submits without the lock, because the pool wakes the computing thread and this thread may then
/// lose its core. One thread submits at a time, so that batches stay in order; others leave their
/// batches to it and continue.
void event_builder::submit_finished(locked& lock) {
  while (!submitting_ && batches_.has_finished()) {
    submitting_ = true;
    input_batch* batch = batches_.take_finished();
    lock.unlock();
    batches_.submit(*batch);
    lock.lock();
    submitting_ = false;
  }
}

void event_builder::land(landing_strip& strip, std::span<const datagram> datagrams,
                         input_counters& input) const {
  for (const auto& d : datagrams) look_at(strip, d, input);
  strip.land(datagrams);
}

void event_builder::take(landing_strip& strip, input_counters& input, time_point now) {
  auto lock = lock_at(now); // work that is due by time waits for the end of the round
  take_landed(strip, input, lock);
  refill(strip);
  finish(std::move(lock));
}

void event_builder::take_in_time(landing_strip& strip, input_counters& input, time_point now) {
  const std::size_t slots = strip.slots().size();
  const std::size_t free = slots - strip.first_free();
  if (free > slots / 2) return;
  locked lock(mutex_, std::defer_lock);
  if (free <= slots / 4) {
    lock.lock();
  } else if (!lock.try_lock()) {
    return;
  }
  set_clock(now);
  take_landed(strip, input, lock);
  refill(strip);
  finish(std::move(lock));
}

void event_builder::take_landed(landing_strip& strip, input_counters& input, locked& lock) {
  if (!is_ready()) settle(lock); // the responsible thread may be working without the lock
  for (const auto& d : strip.waiting()) {
    on_datagram(strip, d, input);
    if (!is_settled()) settle(lock);
  }
  rounds_.tell(strip);
}

void event_builder::enter(landing_strip& strip, time_point now) {
  auto lock = begin(now);
  strip.begin_round(now);
  rounds_.tell(strip);
  refill(strip);
  finish(std::move(lock));
}

void event_builder::end_round(landing_strip& strip, input_counters& input, time_point now,
                              bool emptied) {
  strip.end_round(now, emptied);
  if (!strip.slots().empty()) return take_in_time(strip, input, now);
  auto lock = lock_at(now);
  rounds_.tell(strip);
  settle(lock);
  finish(std::move(lock));
}

void event_builder::leave(landing_strip& strip, input_counters& input, time_point now) {
  auto lock = lock_at(now);
  take_landed(strip, input, lock);
  settle(lock);
  strip.release(batches_);
  finish(std::move(lock));
}

void event_builder::tick(time_point now, const landing_strip* strip) {
  auto lock = begin(now);
  if (strip != nullptr) rounds_.tell(*strip);
  const time_point read = std::min(now_, rounds_.emptied_up_to()); // no limit passed before that
  while (const auto chunk = resolver_.take_expired(read)) {
    take_unnamed(*chunk);
    settle(lock);
  }
  events_.count_overdue(read - overdue_after);
  events_.queue_all([&](const event_assembly& e) {
    const bool is_out_of_time = read - e.began_at >= settings_.event_time_limit;
    return is_out_of_time ? assembly_state::due : assembly_state::filling;
  });
  settle(lock);
  spills_.tick(read);
  close_if_old();
  settle(lock);
  spills_.take_summaries(due_);
  finish(std::move(lock));
}

bool event_builder::try_drain(time_point now) {
  auto lock = begin(now);
  const bool all_ended = end_all(false, lock);
  finish(std::move(lock));
  return all_ended;
}

void event_builder::drain(time_point now) {
  auto lock = begin(now);
  without_room_ = shed::drain;
  static_cast<void>(end_all(true, lock));
  spills_.close_all();
  for (auto* stream : streams_) {
    if (stream->at_ != nullptr) set_aside(*stream);
  }
  batches_.move_to(nullptr, now_);
  settle(lock);
  spills_.take_summaries(due_);
  finish(std::move(lock));
}

/// Ends every event; events to be stored only if they have room, unless `with_those_without_room`.
/// Returns false if any are left.
bool event_builder::end_all(bool with_those_without_room, locked& lock) {
  while (const auto chunk = resolver_.take_oldest()) {
    take_unnamed(*chunk);
    settle(lock);
  }
  events_.queue_all([](const event_assembly& e) {
    return e.place == event_place::parking ? assembly_state::filling : assembly_state::due;
  });
  settle(lock); // the others may need their frames
  events_.queue_all([&](const event_assembly& e) {
    const bool is_kept = e.all_ended() || settings_.incomplete == incomplete_events::forward;
    return is_kept && !with_those_without_room ? assembly_state::ready : assembly_state::due;
  });
  for (auto before = events_.open_events() + 1; events_.open_events() < before;) {
    before = events_.open_events();
    settle(lock);
    if (events_.open_events() == 0) break;
    close_batch(true); // its events must not wait for the rest
    without_frame_ = 0;
    settle(lock);
  }
  return events_.open_events() == 0;
}

std::uint32_t event_builder::open_events() const {
  const std::lock_guard lock(mutex_);
  return events_.open_events();
}

bool event_builder::between_spills() const {
  const std::lock_guard lock(mutex_);
  return spills_.between_spills();
}

} // namespace l3
