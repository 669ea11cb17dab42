// SPDX-License-Identifier: Apache-2.0
// The end of events: when they end, in which order, and in which batch. Also when batches close,
// and where their open events go.
#include <algorithm>
#include <cstring>
#include <utility>

#include "transport/building/event_builder.hpp"

namespace l3 {

/// Ends events, and closes, empties and submits batches, until no work is due. The next datagram
/// then finds all the room it may need: for an event, in a slot, to wait, in a spill table.
void event_builder::settle(locked& lock) {
  for (;;) {
    submit_finished(lock);
    if (batches_.current() == nullptr) batches_.move_to(batches_.try_take(), now_);
    if (is_settled() && !batches_.any_closed() && !events_.any_in_doubt()) return; // the usual case
    close_if_full();
    events_.end_doubts(now_, rounds_.read_up_to());
    if (const auto handle = due(); handle != event_assembly::none) {
      end(handle, lock);
    } else if (auto* batch = batches_.overdue(now_); batch != nullptr && empty(*batch, lock)) {
      continue;
    } else if (auto* over = spills_.take_to_clear(due_); over != nullptr) {
      lock.unlock();
      over->clear();
      lock.lock();
      spills_.give_back(*over);
    } else if (resolver_.full()) {
      take_unnamed(*resolver_.take_oldest());
    } else {
      without_frame_ = events_.queued();
      return;
    }
  }
}

/// Returns an event that must end now; event_assembly::none if there is none.
std::uint32_t event_builder::due() {
  auto handle = events_.next([this](const event_assembly& e) { return make_room_for(e); });
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
  // A stray chunk of an uncertain spill: the real event of this number may still come.
  if (!is_repeat(e) && (!e.verified || !e.spill->confirmed)) return end_as_late(handle);

  auto candidate = take_candidate();
  candidate->key = {*e.spill->number, e.number};
  events_.collect(handle, *candidate);
  events_.judge(handle);
  lock.unlock();
  admission_.look_into(*candidate);
  lock.lock();
  if (is_repeat(e)) { // admitted when its spill came before, or as a record meanwhile
    const bool another = spills_.was_another(candidate->key, candidate->digest.mark());
    for (const auto& f : candidate->fragments) {
      counters_.fragments_duplicate.add(f.crate);
      if (another) counters_.fragments_conflicting.add();
    }
    finish_in_table(e, true, false);
    events_.release(handle, false);
  } else {
    admit(handle, *candidate, lock);
  }
  candidates_.push_back(std::move(candidate));
}

bool event_builder::is_repeat(const event_assembly& e) const {
  return e.verified && spills_.is_repeat({*e.spill->number, e.number});
}

void event_builder::end_as_late(std::uint32_t handle) {
  const event_assembly& e = events_[handle];
  for (std::size_t c = 0; c < e.fragments.size(); ++c)
    if (e.fragments[c].seen) counters_.fragments_late.add(c);
  e.spill->forget(e.number);
  events_.release(handle, false);
}

void event_builder::admit(std::uint32_t handle, candidate_event& candidate, locked& lock) {
  const event_assembly& e = events_[handle];
  const auto verdict = admission_.judge(candidate);
  const bool stored = verdict.admit && store(e, candidate, lock);
  if (verdict.admit && !stored)
    outcomes_.events_shed.add(e.place == event_place::parking ? without_room_ : shed::no_frame);
  finish_in_table(e, verdict.complete, verdict.admit);
  if (stored) spills_.set_admitted(candidate.key, candidate.digest.mark());
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

/// Enters the event in the tables of its batch, or a parked one in those of the current batch.
/// Returns false if there is no room.
bool event_builder::store(const event_assembly& e, candidate_event& candidate, locked& lock) {
  if (e.place == event_place::nowhere || !make_room_for(e)) return false;
  if (e.place == event_place::batch) {
    write(candidate, *e.batch, lock);
    return true;
  }
  batch_in_use& batch = *batches_.current();
  const auto bytes = events_.parked_bytes(e);
  auto at = batch.landing.region(bytes).value();
  ++batch.reserved;
  counters_.parked_bytes.add(bytes);
  write(candidate, batch, lock, [&] {
    for (auto& f : candidate.fragments) {
      if (f.form == arrived_fragment::carried::no) continue;
      std::memcpy(batch.batch->bytes.data() + at, f.where.memory, f.where.bytes);
      candidate.own_piece(f.crate) = at;
      at += static_cast<piece_offset>(landing_area::region_bytes(f.where.bytes));
    }
  });
  return true;
}

/// Writes the event into its reserved entries without the lock, after `copy` has moved its bytes.
void event_builder::write(const candidate_event& candidate, batch_in_use& batch, locked& lock,
                          const std::function<void()>& copy) {
  if (batch.batch->used_events == 0) batch.first_admitted = now_;
  const auto place = admission::reserve(candidate, *batch.batch);
  batches_.count_event();
  batches_.enter(batch);
  const auto now = now_;
  lock.unlock();
  if (copy) copy();
  admission::write(candidate, now, place, *batch.batch);
  lock.lock();
  batches_.leave(batch);
}

std::unique_ptr<candidate_event> event_builder::take_candidate() {
  if (candidates_.empty()) return std::make_unique<candidate_event>(settings_);
  auto candidate = std::move(candidates_.back());
  candidates_.pop_back();
  return candidate;
}

bool event_builder::close_batch(bool without_next) {
  auto* next = batches_.try_take();
  if (next == nullptr && !without_next) return false;
  auto* old = batches_.current();
  batches_.move_to(next, now_);
  for (auto* stream : streams_) { // streams that wait for a sender
    if (stream->at_ != nullptr && stream->at_ == old && !stream->inside_ && stream->filled_ == 0)
      set_aside(*stream);
  }
  return true;
}

void event_builder::close_if_full() {
  const auto* batch = batches_.current();
  if (batch == nullptr) return;
  const bool is_done = batch->batch->used_events == batch->batch->events.size();
  if (is_done || !batch->landing.has_slot()) {
    close_batch(true);
  } else if (batch->is_full()) {
    close_batch(false);
  }
}

/// A batch that is not full is submitted only if the compute side takes it at once. Otherwise it
/// would wait, nearly empty, in a frame that later events need.
void event_builder::close_if_old() {
  const auto* batch = batches_.current();
  if (batch == nullptr || batch->batch->used_events == 0) return;
  if (now_ - batch->first_admitted >= batch_age_ && batches_.idle()) close_batch(false);
}

/// Whether the event can be stored; a parked one needs room in the current batch.
bool event_builder::make_room_for(const event_assembly& e) {
  if (e.place != event_place::parking) return true;
  const std::size_t bytes = events_.parked_bytes(e);
  if (batches_.current() == nullptr) return false;
  if (batches_.current()->has_room(bytes)) return true;
  return close_batch(false) && batches_.current()->has_room(bytes);
}

/// Moves one open event, or one half-read record, out of the batch. If the parking area is full,
/// its oldest event becomes due. Returns false if other threads are working on everything that is
/// left.
bool event_builder::empty(batch_in_use& batch, locked& lock) {
  for (auto* stream : streams_) {
    if (stream->at_ != &batch || stream->inside_) continue;
    set_aside(*stream);
    return true;
  }
  const auto handle = events_.oldest([&](const event_assembly& e) { return e.batch == &batch; });
  if (handle == event_assembly::none) return false;
  if (events_.parking_is_full()) {
    const auto parked =
        events_.oldest([](const event_assembly& e) { return e.place == event_place::parking; });
    events_.queue(parked != event_assembly::none ? parked : handle);
    return true;
  }
  std::vector<event_assembler::chunk_copy> copies;
  events_.begin_move(handle, copies);
  lock.unlock();
  event_assembler::copy(copies);
  lock.lock();
  events_.end_move(handle);
  return true;
}

/// Gives the strip slots of the current batch, or of its own memory if no batch has room.
void event_builder::refill(landing_strip& strip) {
  if (strip.refill(batches_)) return;
  close_batch(false); // the batch is full
  if (!strip.refill(batches_)) strip.use_own_memory(batches_);
}

} // namespace l3
