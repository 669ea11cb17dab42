// SPDX-License-Identifier: Apache-2.0
// The event builder's batches: when they close, and where the open events of a closed one go.
#include "transport/building/event_builder.hpp"

namespace l3 {

bool event_builder::close_batch(bool without_next) {
  auto* next = batches_.try_take();
  if (next == nullptr && !without_next) return false;
  auto* old = batches_.current();
  batches_.move_to(next, now_);
  for (auto* stream : streams_) { // those that wait for a sender
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
/// would wait there, nearly empty, in a frame that later events need.
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

/// Moves one open event, or one half-read record, out of the batch. When the parking area is full,
/// its oldest event is due. False if other threads are at work on all that is left.
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
  close_batch(false); // the batch has no bytes left
  if (!strip.refill(batches_)) strip.use_own_memory(batches_);
}

} // namespace l3
