// SPDX-License-Identifier: Apache-2.0
// The end of events: when they end, in which order, and in which batch. Also when batches close,
// and where their open events go.
#include <algorithm>
#include <cstring>

#include "transport/building/event_builder.hpp"

namespace l3 {
namespace {

/// A full parking area keeps its events until they are this old. Under constant loss, an exchange
/// for each incomplete event would copy more than half of the input.
constexpr auto shortest_parking = std::chrono::milliseconds(100);

} // namespace

/// Ends events, and closes, empties and submits batches, until no work is due. The next datagram
/// then finds all the room it may need: for an event, in a slot, to wait, in a spill table.
void event_builder::settle() {
  for (;;) {
    batches_.submit_finished();
    if (batches_.current() == nullptr) {
      if (auto* next = batches_.try_take(); next != nullptr) change_batch(next);
    }
    if (is_settled() && !batches_.any_closed() && !events_.any_in_doubt()) return; // the usual case
    close_if_full();
    events_.end_doubts(now_, read_up_to_);
    if (auto* const e = due(); e != nullptr) {
      end(*e);
      continue;
    }
    auto* batch = batches_.overdue(now_);
    if ((batch != nullptr && empty(*batch)) || spills_.free_one_over(due_)) continue;
    if (!resolver_.full()) break;
    take_unnamed(*resolver_.take_oldest());
  }
  without_frame_ = events_.queued();
}

/// Returns an event that must end now, or nullptr.
event_assembly* event_builder::due() {
  auto* e = events_.next([this](const event_assembly& ready) { return make_room_for(ready); });
  const auto* over = spills_.with_events_to_end();
  if (e == nullptr && over != nullptr)
    e = events_.oldest([over](const event_assembly& open) { return open.spill == over; });
  if (e == nullptr && events_.full()) e = events_.open_events().front();
  return e;
}

/// Ends this event and no other.
void event_builder::end(event_assembly& e) {
  if (e.all_ended() && e.verified) spills_.confirm_by(*e.spill, e.number);
  candidate_.key = {*e.spill->number, e.number};
  // It was admitted when its spill came before, or as a record.
  const bool is_repeat = e.verified && spills_.is_repeat(candidate_.key);
  // A stray chunk of an uncertain spill: the real event of this number may still come.
  if (!is_repeat && (!e.verified || !e.spill->confirmed)) return end_as_late(e);

  events_.collect(e, candidate_);
  admission_.look_into(candidate_);
  if (!is_repeat) return admit(e);
  const bool another = spills_.was_another(candidate_.key, candidate_.digest.mark());
  for (const auto& f : candidate_.fragments) {
    counters_.fragments_duplicate.add(f.crate);
    if (another) counters_.fragments_conflicting.add();
  }
  finish_in_table(e, true, false);
  events_.release(e, false);
}

void event_builder::end_as_late(event_assembly& e) {
  for (std::size_t c = 0; c < e.fragments.size(); ++c)
    if (e.fragments[c].seen) counters_.fragments_late.add(c);
  e.spill->forget(e.number);
  events_.release(e, false);
}

void event_builder::admit(event_assembly& e) {
  const auto verdict = admission_.judge(candidate_);
  const bool stored = verdict.admit && store(e);
  if (verdict.admit && !stored)
    outcomes_.events_shed.add(e.parked != nullptr ? without_room_ : shed::no_frame);
  finish_in_table(e, verdict.complete, verdict.admit);
  if (stored) spills_.set_admitted(candidate_.key, candidate_.digest.mark());
  events_.release(e, stored);
}

void event_builder::finish_in_table(const event_assembly& e, bool whole, bool admitted) {
  spill_table::outcome o{whole, admitted, 0};
  for (std::size_t c = 0; c < e.fragments.size(); ++c) {
    const auto& f = e.fragments[c];
    o.counted |= std::uint64_t{whole ? f.repeated : f.seen} << c;
  }
  e.spill->finish(e.number, o);
}

/// Enters the event in the tables of its batch, or a parked one in those of the current batch.
/// Returns false if there is no room.
bool event_builder::store(const event_assembly& e) {
  if (!e.has_place() || !make_room_for(e)) return false;
  if (e.batch != nullptr) {
    write(candidate_, *e.batch);
    return true;
  }
  batch_in_use& batch = *batches_.current();
  const auto bytes = events_.parked_bytes(e);
  auto at = batch.landing.region(bytes).value();
  ++batch.reserved;
  counters_.parked_bytes.add(bytes);
  for (auto& f : candidate_.fragments) {
    if (!f.whole) continue;
    std::memcpy(batch.batch->bytes.data() + at, f.where.memory, f.where.bytes);
    candidate_.own_pieces[f.crate] = at;
    at += static_cast<piece_offset>(landing_area::region_bytes(f.where.bytes));
  }
  write(candidate_, batch);
  return true;
}

/// Writes the event into the tables of the batch, which must have room.
void event_builder::write(const candidate_event& candidate, batch_in_use& batch) {
  if (batch.batch->used_events == 0) batch.first_admitted = now_;
  admission::write(candidate, now_, *batch.batch);
  batches_.count_event();
}

bool event_builder::close_batch(bool without_next) {
  auto* next = batches_.try_take();
  if (next == nullptr && !without_next) return false;
  auto* old = batches_.current();
  change_batch(next);
  for (auto* stream : streams_) { // streams that wait for a sender
    if (stream->may_move() && stream->at_ == old && stream->filled_ == 0) set_aside(*stream);
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
  return e.parked == nullptr || find_room(events_.parked_bytes(e));
}

/// Whether an event with this much contiguous room fits into the current batch, or into the next
/// one, which then becomes the current one.
bool event_builder::find_room(std::size_t bytes) {
  if (batches_.current() == nullptr) return false;
  if (batches_.current()->has_room(bytes)) return true;
  return close_batch(false) && batches_.current()->has_room(bytes);
}

/// Moves one open event, or one half-read record, out of the batch. If the parking area is full,
/// its oldest event becomes due, or this one if the oldest is young. Returns false if connections
/// are using all that is left.
bool event_builder::empty(batch_in_use& batch) {
  for (auto* stream : streams_) {
    if (stream->at_ != &batch || !stream->may_move()) continue;
    set_aside(*stream);
    return true;
  }
  auto* const e = events_.oldest([&](const event_assembly& open) { return open.batch == &batch; });
  if (e == nullptr) return false;
  if (events_.parking_is_full()) {
    auto* const parked = events_.oldest([this](const event_assembly& open) {
      return open.parked != nullptr && now_ - open.began_at >= shortest_parking;
    });
    events_.queue(parked != nullptr ? *parked : *e);
  } else {
    events_.park(*e);
  }
  return true;
}

} // namespace l3
