// SPDX-License-Identifier: Apache-2.0
// One call of the event builder, from the lock to what follows it, and how events end.
#include "transport/building/event_builder.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

namespace l3 {
namespace {

constexpr std::uint32_t max_crates = 64;      // a bit each in a word
constexpr std::uint32_t max_chunk_count = 64; // the same

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
    refuse("a batch may have at most 4 GiB; take fewer events a batch");
  return s;
}

} // namespace

event_builder::event_builder(const building_settings& settings, const batch_capacity& capacity,
                             std::chrono::nanoseconds batch_age, batch_pool& pool,
                             building_counters& counters, outcome_counters& outcomes,
                             std::function<void(const spill_summary&)> on_end_of_spill)
    : settings_(checked(settings, capacity)), batch_age_(batch_age), counters_(counters),
      outcomes_(outcomes), on_end_of_spill_(std::move(on_end_of_spill)), spills_(settings_),
      unstated_(settings.chunk_bytes),
      known_chunks_(settings.remembered_chunks_of, settings.crates.size(), settings.max_chunks()),
      batches_(pool, settings.chunk_bytes), events_(settings_, capacity, batches_, counters),
      table_bytes_(spills_.bytes() + unstated_.bytes() + known_chunks_.bytes() +
                   events_.table_bytes()),
      admission_(settings_, counters) {}

/// Takes the lock, sets the clock, and does what has become due.
event_builder::locked event_builder::begin(time_point now) {
  locked lock(mutex_);
  now_ = std::max(now_, now); // another thread may get the lock first with a later time
  settle(lock);
  return lock;
}

/// Gives the lock back, submits batches, and reports the spills that have ended.
void event_builder::finish(locked lock) {
  counters_.spills.add(spills_.spills_begun() - counters_.spills);
  submit_finished(lock);
  if (due_.empty()) return;
  const auto ended = std::exchange(due_, {});
  lock.unlock();
  for (const auto& summary : ended) on_end_of_spill_(summary);
}

/// Submits without the lock: the pool wakes the thread that computes, and this one may then lose
/// its core. One thread submits at a time, so that batches go in order; another leaves its batch to
/// that thread, and goes on.
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

void event_builder::take(landing_strip& strip, std::span<const datagram> datagrams,
                         input_counters& input, time_point now) {
  for (const auto& d : datagrams)
    prefetch_header(strip.slots()[d.slot].memory, d.header.chunk * settings_.chunk_bytes);
  auto lock = begin(now);
  for (const auto& d : datagrams) {
    on_datagram(strip, d, input);
    if (!is_settled()) settle(lock);
  }
  refill(strip);
  finish(std::move(lock));
}

void event_builder::enter(landing_strip& strip, time_point now) {
  auto lock = begin(now);
  rounds_.begin(strip, now);
  refill(strip);
  finish(std::move(lock));
}

void event_builder::end_round(landing_strip& strip, time_point now) {
  auto lock = begin(now);
  rounds_.end(strip, now);
  settle(lock);
  finish(std::move(lock));
}

void event_builder::leave(landing_strip& strip) {
  locked lock(mutex_);
  strip.release(batches_);
  finish(std::move(lock));
}

void event_builder::tick(time_point now) {
  auto lock = begin(now);
  while (const auto chunk = unstated_.take_expired(now_)) {
    wait_no_more(*chunk);
    settle(lock);
  }
  const auto out_of_time = [this](const event_assembly& e) {
    return now_ - e.began_at >= settings_.event_time_limit;
  };
  for (auto h = events_.oldest(out_of_time); h != event_assembly::none;
       h = events_.oldest(out_of_time)) {
    end(h, lock);
    settle(lock);
  }
  spills_.tick(now_);
  close_if_old();
  settle(lock);
  spills_.take_summaries(due_);
  finish(std::move(lock));
}

bool event_builder::try_drain(time_point now) {
  auto lock = begin(now);
  end_waiting_chunks(lock);
  const auto in_batch = [](const event_assembly& e) { return e.place == event_place::batch; };
  const auto has_room = [this](const event_assembly& e) {
    const bool is_kept = e.all_ended() || settings_.incomplete == incomplete_events::forward;
    return !is_kept || make_room_for(e);
  };
  for (;;) {
    auto handle = events_.oldest(in_batch);
    if (handle == event_assembly::none) handle = events_.oldest(has_room);
    if (handle != event_assembly::none) {
      end(handle, lock);
    } else if (events_.open_events() > 0 && batches_.current() != nullptr) {
      close_batch(true); // its events must not wait for those that are left
    } else {
      break;
    }
    settle(lock);
  }
  const bool all_ended = events_.open_events() == 0;
  finish(std::move(lock));
  return all_ended;
}

void event_builder::drain(time_point now) {
  auto lock = begin(now);
  end_waiting_chunks(lock);
  without_room_ = shed::drain;
  const auto any = [](const event_assembly&) { return true; };
  for (auto h = events_.oldest(any); h != event_assembly::none; h = events_.oldest(any)) {
    end(h, lock);
    settle(lock);
  }
  spills_.close_all();
  for (auto* stream : streams_) {
    if (stream->at_ != nullptr) set_aside(*stream);
  }
  batches_.move_to(nullptr, now_);
  settle(lock);
  spills_.take_summaries(due_);
  finish(std::move(lock));
}

void event_builder::end_waiting_chunks(locked& lock) {
  while (const auto chunk = unstated_.take_oldest()) {
    wait_no_more(*chunk);
    settle(lock);
  }
}

std::vector<event_key> event_builder::fetch_conflicts() {
  const std::lock_guard lock(mutex_);
  return std::exchange(conflicts_, {});
}

std::uint32_t event_builder::open_events() const {
  const std::lock_guard lock(mutex_);
  return events_.open_events();
}

/// Whether settle() finds nothing to do, unless time has passed.
bool event_builder::is_settled() {
  const auto* batch = batches_.current();
  return !events_.any_complete() && !events_.full() && !unstated_.full() && !spills_.any_over() &&
         (batch == nullptr || (!batch->is_full() && batch->landing.has_slot()));
}

/// Does what is due, until the next datagram finds room for whatever it may need: an event, a
/// slot, a waiting place, the table of a spill.
void event_builder::settle(locked& lock) {
  for (;;) {
    submit_finished(lock);
    if (batches_.current() == nullptr) batches_.move_to(batches_.try_take());
    close_if_full();
    if (auto* batch = batches_.overdue(now_); batch != nullptr && empty(*batch, lock)) continue;
    if (const auto handle = due(); handle != event_assembly::none) {
      end(handle, lock);
    } else if (auto* over = spills_.take_to_clear(due_); over != nullptr) {
      lock.unlock();
      over->clear();
      lock.lock();
      spills_.give_back(*over);
    } else if (unstated_.full()) {
      wait_no_more(*unstated_.take_oldest());
    } else {
      return;
    }
  }
}

/// An event that must end now: it is complete, or its spill is over, or another needs its room.
/// event_assembly::none if there is none.
std::uint32_t event_builder::due() {
  auto handle = events_.complete(now_, rounds_.read_up_to(),
                                 [this](const event_assembly& e) { return make_room_for(e); });
  const auto* over = spills_.with_events_to_end();
  if (handle == event_assembly::none && over != nullptr)
    handle = events_.oldest([over](const event_assembly& e) { return e.spill == over; });
  if (handle == event_assembly::none && events_.full())
    handle = events_.oldest([](const event_assembly&) { return true; });
  return handle;
}

/// Ends this event and no other.
void event_builder::end(std::uint32_t handle, locked& lock) {
  event_assembly& e = events_[handle];
  if (e.all_ended() && e.verified) spills_.confirm_by(*e.spill, e.number);
  // A stray chunk, whose spill is uncertain: the real event of this number may still come.
  if (!is_repeat(e) && (!e.verified || !e.spill->confirmed))
    return end_as(handle, counters_.fragments_late);

  auto candidate = take_candidate();
  candidate->key = {*e.spill->number, e.number};
  events_.collect(handle, *candidate);
  e.state = assembly_state::judged;
  lock.unlock();
  admission_.look_into(*candidate);
  lock.lock();
  if (is_repeat(e)) { // it was admitted when its spill came before, or came meanwhile as a record
    const bool another = is_another(*candidate);
    if (another) name_conflict(candidate->key);
    end_as(handle, another ? counters_.fragments_conflicting : counters_.fragments_duplicate);
  } else {
    admit(handle, *candidate, lock);
  }
  candidates_.push_back(std::move(candidate));
}

bool event_builder::is_repeat(const event_assembly& e) const {
  return e.verified && spills_.is_repeat({*e.spill->number, e.number});
}

/// Whether an event that came again has other bytes. An event that lacks any is not compared.
bool event_builder::is_another(const candidate_event& repeat) const {
  const auto is_here = [](const arrived_fragment& f) { return f.where.memory != nullptr; };
  return repeat.fragments.size() == settings_.crates.size() &&
         std::ranges::all_of(repeat.fragments, is_here) &&
         spills_.known().has_another(repeat.key, repeat.digest.mark());
}

void event_builder::name_conflict(event_key key) {
  if (spills_.known().first_conflict(key)) conflicts_.push_back(key);
}

/// Ends an event of which nothing is kept.
void event_builder::end_as(std::uint32_t handle, counter& fragments) {
  const event_assembly& e = events_[handle];
  fragments.add(
      static_cast<std::uint64_t>(std::ranges::count_if(e.fragments, &fragment_assembly::seen)));
  if (&fragments == &counters_.fragments_late) {
    e.spill->forget(e.number);
  } else {
    finish_in_table(e, true, false);
  }
  events_.release(handle, false);
}

void event_builder::admit(std::uint32_t handle, candidate_event& candidate, locked& lock) {
  const event_assembly& e = events_[handle];
  const auto verdict = admission_.judge(candidate);
  const bool stored = verdict.admit && store(e, candidate, lock);
  if (verdict.admit && !stored)
    outcomes_.events_shed.add(e.place == event_place::parking ? without_room_ : shed::no_frame);
  finish_in_table(e, verdict.complete, verdict.admit);
  if (verdict.complete) known_chunks_.remember(candidate.key, candidate.chunk_marks);
  // What datagrams of an incomplete event were lost may come with its repeat.
  if (stored) spills_.set_admitted(candidate.key, verdict.complete ? candidate.digest.mark() : 0);
  events_.release(handle, stored);
}

void event_builder::finish_in_table(const event_assembly& e, bool whole, bool admitted) {
  spill_table::outcome o{whole, admitted, 0, 0};
  for (std::size_t c = 0; c < e.fragments.size(); ++c) {
    o.seen |= std::uint64_t{e.fragments[c].seen} << c;
    o.repeated |= std::uint64_t{e.fragments[c].repeated} << c;
  }
  e.spill->finish(e.number, o);
}

/// Enters the event in the tables of its batch, a parked one in those of the current batch. False
/// if there is no room.
bool event_builder::store(const event_assembly& e, candidate_event& candidate, locked& lock) {
  if (e.place == event_place::parking) return store_parked(e, candidate, lock);
  if (e.place == event_place::nowhere) return false;
  write(candidate, *e.batch);
  return true;
}

bool event_builder::store_parked(const event_assembly& e, candidate_event& candidate,
                                 locked& lock) {
  if (!make_room_for(e)) return false;
  batch_in_use* batch = batches_.current();
  auto at = batch->landing.region(events_.parked_bytes(e)).value();
  ++batch->reserved;
  batches_.enter(*batch);
  lock.unlock();
  for (auto& f : candidate.fragments) {
    if (f.form == arrived_fragment::carried::no) continue;
    std::memcpy(batch->batch->bytes.data() + at, f.where.memory, f.where.bytes);
    candidate.own_piece(f.crate) = at;
    at += static_cast<piece_offset>(landing_area::region_bytes(f.where.bytes));
  }
  lock.lock();
  batches_.leave(*batch);
  write(candidate, *batch);
  counters_.parked.add();
  return true;
}

void event_builder::write(const candidate_event& candidate, batch_in_use& batch) {
  if (batch.batch->used_events == 0) batch.first_admitted = now_;
  admission::write(candidate, now_, *batch.batch);
  batches_.count_event();
}

std::unique_ptr<candidate_event> event_builder::take_candidate() {
  if (candidates_.empty()) return std::make_unique<candidate_event>(settings_);
  auto candidate = std::move(candidates_.back());
  candidates_.pop_back();
  return candidate;
}

} // namespace l3
