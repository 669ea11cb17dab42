// SPDX-License-Identifier: Apache-2.0
// How the event builder begins to assemble an event, and how it ends one.
#include <algorithm>
#include <cassert>
#include <cstring>

#include "transport/building/event_builder.hpp"

namespace l3 {
namespace {

/// How long the true chunk can arrive after the datagrams that complete its event: a few rounds of
/// a thread over its ports, or the time by which one thread is ahead of another.
constexpr auto doubt_limit = std::chrono::milliseconds(3);

} // namespace

void event_builder::make_room_to_open() {
  if (events_.full()) settle(events_.oldest());
  const auto full = [this] {
    const auto* batch = batches_.current();
    return batch != nullptr && batch->reserved == batch->batch->events.size();
  };
  // Events that end to make room in the parking area may fill the next batch too.
  while (full() && close_batch(false)) {
  }
}

std::uint32_t event_builder::open_event(spill_table& spill, std::uint32_t number) {
  auto* batch = batches_.current();
  if (batch != nullptr && batch->reserved == batch->batch->events.size()) batch = nullptr;
  const std::uint32_t handle = events_.take();
  event_assembly& e = events_[handle];
  e.spill = &spill;
  e.number = number;
  e.began_at = now_;
  if (batch != nullptr) {
    e.place = event_place::batch;
    ++batch->reserved;
    ++in_batch_;
  }
  spill.open(number, handle);
  ++open_;
  return handle;
}

/// A chunk that came before any datagram that names its spill may be a late one of another spill:
/// its event waits a moment for the true chunk, which is then compared.
void event_builder::all_fragments_ended(std::uint32_t handle) {
  event_assembly& e = events_[handle];
  const bool doubtful = e.place != event_place::nowhere &&
                        std::ranges::any_of(e.fragments, &fragment_assembly::early);
  e.due = doubtful ? now_ + doubt_limit : now_;
  ++waiting_;
  if (e.place == event_place::parking) return admit_waiting();
  if (!doubtful) settle(handle);
}

/// Admits events whose fragments have all ended, and which waited for their doubt to end or for
/// room. Parked ones move into the current batch; if they do not fit and no other batch is free,
/// they go on waiting.
void event_builder::admit_waiting() {
  auto handle = events_.oldest();
  while (waiting_ > 0 && handle != event_assembly::none) {
    const event_assembly& e = events_[handle];
    if (!is_due(e)) {
      handle = events_.younger(handle);
      continue;
    }
    if (e.place != event_place::parking || (batches_.current() != nullptr && room_for_parked(e))) {
      settle(handle);
    } else if (batches_.current() == nullptr || !close_batch(false)) {
      return;
    }
    handle = events_.oldest(); // settle() may have ended or parked others
  }
}

/// The doubt ends early when the threads have read every datagram that had arrived with the last
/// one of the event.
bool event_builder::is_due(const event_assembly& e) const {
  return e.due <= now_ || (e.all_ended() && e.due - doubt_limit <= rounds_.read_up_to());
}

/// Ends an event as it is. Others may end before it to make room for it, but no room is made for
/// them: this goes no deeper.
void event_builder::settle(std::uint32_t handle) {
  make_room_to_store(handle);
  end_event(handle);
}

/// Ends this event and no other, closes no batch, retires no spill table.
void event_builder::end_event(std::uint32_t handle) {
  event_assembly& e = events_[handle];
  if (e.all_ended() && e.verified) spills_.confirm_by(*e.spill, e.number);
  const event_key key{*e.spill->number, e.number};
  if (e.verified && spills_.is_repeat(key)) return settle_repeat(handle);
  if (!e.verified || !spills_.confirmed(*e.spill)) return settle_unconfirmed(handle);

  collect(e);
  const auto verdict = admission_.judge(key, arrived_);
  const bool stored = verdict.admit && store(e, key, verdict);
  if (verdict.admit && !stored)
    outcomes_.events_shed.add(e.place == event_place::parking ? without_room_ : shed::no_frame);
  finish(e, verdict.complete, verdict.admit);
  if (stored) spills_.set_admitted(key, verdict.mark);
  release(handle, stored);
}

void event_builder::finish(const event_assembly& e, bool whole, bool admitted) {
  spill_table::outcome o{whole, admitted, 0, 0};
  for (std::size_t c = 0; c < e.fragments.size(); ++c) {
    o.seen |= std::uint64_t{e.fragments[c].seen} << c;
    o.repeated |= std::uint64_t{e.fragments[c].repeated} << c;
  }
  e.spill->finish(e.number, o);
}

/// Ends an event that was admitted when its spill came before.
void event_builder::settle_repeat(std::uint32_t handle) {
  const event_assembly& e = events_[handle];
  for (const auto& f : e.fragments) {
    if (f.seen) counters_.fragments_duplicate.add();
  }
  finish(e, true, false);
  release(handle, false);
}

/// Ends an event whose spill is uncertain: a stray chunk. The real event of this number may still
/// come.
void event_builder::settle_unconfirmed(std::uint32_t handle) {
  const event_assembly& e = events_[handle];
  for (const auto& f : e.fragments) {
    if (f.seen) counters_.fragments_late.add();
  }
  e.spill->forget(e.number);
  release(handle, false);
}

void event_builder::collect(const event_assembly& e) {
  arrived_.clear();
  for (std::uint32_t c = 0; c < e.fragments.size(); ++c) {
    const auto& f = e.fragments[c];
    if (!f.seen) continue;
    arrived_fragment a;
    a.crate = static_cast<std::uint8_t>(c);
    a.problem = f.problem;
    a.whole = f.whole() && f.problem != malformed::chunk_count;
    a.where.bytes = a.whole ? bytes_of(f) : 0;
    if (a.whole && e.place == event_place::batch) {
      a.where.memory = home_->batch->bytes.data();
      a.where.pieces = &e.pieces[c * max_chunks_];
      a.where.piece_bytes = settings_.chunk_bytes;
    } else if (a.whole && e.place == event_place::parking) {
      arrived_pieces_[c] = 0;
      a.where.memory = parking_.fragment(e.parking_slot, c);
      a.where.pieces = &arrived_pieces_[c];
      a.where.piece_bytes = static_cast<std::uint32_t>(round_up(a.where.bytes, 4));
    }
    arrived_.push_back(a);
  }
}

/// Closes the current batch if a parked event does not fit. Its open events are then parked, and
/// others may end to make room for those.
void event_builder::make_room_to_store(std::uint32_t handle) {
  const event_assembly& e = events_[handle];
  if (e.place != event_place::parking || batches_.current() == nullptr || room_for_parked(e))
    return;
  settling_ = handle;
  close_batch(false);
  settling_ = event_assembly::none;
}

/// Writes the event that was judged last into its batch; a parked one into the current batch. False
/// if there is no room.
bool event_builder::store(event_assembly& e, event_key key, const admission::verdict& v) {
  auto* batch = e.place == event_place::batch ? home_ : batches_.current();
  if (e.place == event_place::nowhere || batch == nullptr) return false;
  if (e.place == event_place::parking) {
    if (!room_for_parked(e)) return false;
    for (auto& a : arrived_) {
      if (a.form == arrived_fragment::carried::no) continue;
      const auto offset = batch->landing.region(a.where.bytes).value();
      std::memcpy(batch->batch->bytes.data() + offset, a.where.memory, a.where.bytes);
      arrived_pieces_[a.crate] = offset;
    }
    ++batch->reserved;
    counters_.parked.add();
  }
  if (batch->batch->used_events == 0) batch->first_admitted = now_;
  admission_.write(key, v, arrived_, now_, *batch->batch);
  batches_.count_event();
  return true;
}

bool event_builder::room_for_parked(const event_assembly& e) {
  const batch_in_use& batch = *batches_.current();
  if (batch.reserved == batch.batch->events.size()) return false;
  std::size_t bytes = 0;
  for (const auto& f : e.fragments) {
    if (f.whole()) bytes += landing_area::region_bytes(bytes_of(f));
  }
  return batch.batch->bytes.size() - batch.batch->used_bytes >= bytes;
}

/// Gives back the slots and places that an event held; a stored event's pieces stay in the batch.
void event_builder::release(std::uint32_t handle, bool stored) {
  event_assembly& e = events_[handle];
  if (e.all_ended()) --waiting_;
  if (e.place == event_place::parking) parking_.give_back(e.parking_slot);
  if (e.place == event_place::batch) {
    auto& landing = home_->landing;
    --in_batch_;
    if (!stored) --home_->reserved;
    for (std::uint32_t c = 0; c < e.fragments.size(); ++c) {
      const auto& f = e.fragments[c];
      const bool carried = stored && f.whole() && f.problem != malformed::chunk_count;
      for (std::uint32_t i = 0; i < max_chunks_ && !carried; ++i) {
        const bool own_slot = (f.have >> i & 1) != 0 && !(f.gathered && i + 1U == f.chunks);
        if (own_slot) landing.give_back(e.pieces[c * max_chunks_ + i]);
      }
    }
  }
  --open_;
  open_fragments_ -=
      static_cast<std::uint64_t>(std::ranges::count_if(e.fragments, &fragment_assembly::seen));
  events_.give_back(handle);
}

void event_builder::expire() {
  while (events_.oldest() != event_assembly::none &&
         now_ - events_[events_.oldest()].began_at >= settings_.event_time_limit)
    settle(events_.oldest());
}

/// Ends the spill's open events: its table is needed for another spill.
void event_builder::retire(spill_table& spill) {
  while (spill.open_events() > 0) { // settle() may end others too
    auto handle = events_.oldest();
    while (events_[handle].spill != &spill) handle = events_.younger(handle);
    settle(handle);
  }
  spill.closed = true;
  if (const auto summary = spill.take_summary()) due_.push_back(*summary);
}

std::uint32_t event_builder::length_of(const fragment_assembly& f, std::uint32_t chunk) const {
  return f.last_bytes != 0 && chunk + 1 == f.chunks ? f.last_bytes : settings_.chunk_bytes;
}

std::uint32_t event_builder::bytes_of(const fragment_assembly& f) const {
  return (f.chunks - 1U) * settings_.chunk_bytes + length_of(f, f.chunks - 1U);
}

std::byte* event_builder::memory_of(const event_assembly& e, std::uint32_t crate,
                                    std::uint32_t chunk) {
  if (e.place == event_place::parking) return parking_.chunk(e.parking_slot, crate, chunk);
  return home_->batch->bytes.data() + e.pieces[crate * max_chunks_ + chunk];
}

} // namespace l3
