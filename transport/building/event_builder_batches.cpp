// SPDX-License-Identifier: Apache-2.0
// The event builder's batches: when they close, where their open events go, and the strips of slots
// that the receive threads write into.
#include <algorithm>
#include <cassert>

#include "transport/building/event_builder.hpp"

namespace l3 {

void event_builder::enter(landing_strip& strip, time_point now) {
  std::unique_lock lock(mutex_);
  advance(now);
  rounds_.begin(strip, now);
  refill(strip);
  call_hook(lock);
}

void event_builder::end_round(landing_strip& strip, time_point now) {
  std::unique_lock lock(mutex_);
  rounds_.end(strip, now);
  advance(now);
  call_hook(lock);
}

void event_builder::leave(landing_strip& strip) {
  const std::lock_guard lock(mutex_);
  strip.release(batches_);
}

void event_builder::tick(time_point now) {
  std::unique_lock lock(mutex_);
  advance(now);
  while (const auto chunk = unstated_.take_expired(now_)) wait_no_more(*chunk);
  expire();
  spills_.tick(now_);
  close_if_full();
  close_if_old();
  collect_summaries();
  call_hook(lock);
}

bool event_builder::try_drain(time_point now) {
  std::unique_lock lock(mutex_);
  advance(now);
  end_waiting_chunks();
  while (open_ > 0) {
    if (const auto handle = oldest_with_room(); handle != event_assembly::none) {
      settle(handle);
    } else if (batches_.current() != nullptr) {
      close_batch(true); // its events must not wait for those that are left
    } else {
      break;
    }
  }
  const bool all_ended = open_ == 0;
  call_hook(lock);
  return all_ended;
}

void event_builder::end_waiting_chunks() {
  while (const auto chunk = unstated_.take_oldest()) wait_no_more(*chunk);
}

/// The oldest event that can end now without being shed for want of room.
std::uint32_t event_builder::oldest_with_room() {
  const auto waits = [this](const event_assembly& e) {
    return e.place == event_place::parking &&
           (e.all_ended() || settings_.incomplete == incomplete_events::forward) &&
           (batches_.current() == nullptr || !room_for_parked(e));
  };
  auto handle = events_.oldest();
  while (handle != event_assembly::none && waits(events_[handle])) handle = events_.younger(handle);
  return handle;
}

void event_builder::drain(time_point now) {
  std::unique_lock lock(mutex_);
  advance(now);
  end_waiting_chunks();
  without_room_ = shed::drain;
  while (events_.oldest() != event_assembly::none) settle(events_.oldest());
  spills_.close_all();
  for (auto* stream : streams_) {
    if (stream->at_ != nullptr) set_aside(*stream);
  }
  batches_.move_to(nullptr);
  home_ = nullptr;
  collect_summaries();
  call_hook(lock);
}

std::uint32_t event_builder::open_events() const {
  const std::lock_guard lock(mutex_);
  return open_;
}

/// Sets the clock, takes a batch if there is none, and admits events that waited for one.
void event_builder::advance(time_point now) {
  now_ = std::max(now_, now); // another thread may get the lock first with a later time
  if (batches_.current() == nullptr) {
    if (auto* next = batches_.try_take(); next != nullptr) batches_.move_to(next);
    home_ = batches_.current();
  }
  if (waiting_ > 0) admit_waiting();
}

bool event_builder::close_batch(bool without_next) {
  assert(home_ == batches_.current()); // it is not being closed already
  auto* next = batches_.try_take();
  if (next == nullptr && !without_next) return false;
  auto* old = batches_.current();
  if (old != nullptr) batches_.enter(*old);
  batches_.move_to(next); // events that end now to make room in the parking area go there
  if (old != nullptr) {
    park_open_events();
    for (auto* stream : streams_) {
      if (stream->at_ == old && !stream->inside_) set_aside(*stream);
    }
    batches_.leave(*old);
  }
  home_ = batches_.current();
  return true;
}

void event_builder::close_if_full() {
  const auto* batch = batches_.current();
  if (batch != nullptr && batch->batch->used_events == batch->batch->events.size())
    close_batch(true);
}

/// A batch that is not full is submitted only if the compute side takes it at once. Otherwise it
/// would wait there, nearly empty, in a frame that later events need.
void event_builder::close_if_old() {
  const auto* batch = batches_.current();
  if (batch == nullptr || batch->batch->used_events == 0) return;
  if (now_ - batch->first_admitted >= batch_age_ && batches_.idle()) close_batch(false);
}

void event_builder::park_open_events() {
  while (parking_.free() < in_batch_) {
    const auto parked = oldest_in(event_place::parking);
    end_event(parked != event_assembly::none ? parked : oldest_in(event_place::batch));
  }
  for (auto handle = events_.oldest(); in_batch_ > 0; handle = events_.younger(handle)) {
    if (events_[handle].place == event_place::batch) park(events_[handle]);
  }
}

void event_builder::park(event_assembly& e) {
  const auto slot = parking_.take();
  for (std::uint32_t c = 0; c < e.fragments.size(); ++c) {
    const auto& f = e.fragments[c];
    for (std::uint32_t i = 0; i < max_chunks_; ++i) {
      if ((f.have >> i & 1) != 0) parking_.put(slot, c, i, {memory_of(e, c, i), length_of(f, i)});
    }
  }
  e.place = event_place::parking;
  e.parking_slot = slot;
  --in_batch_;
}

std::uint32_t event_builder::oldest_in(event_place place) {
  auto handle = events_.oldest();
  while (handle != event_assembly::none && (events_[handle].place != place || handle == settling_))
    handle = events_.younger(handle);
  return handle;
}

/// Gives the strip slots of the current batch, or of its own memory if no batch has room.
void event_builder::refill(landing_strip& strip) {
  if (strip.refill(batches_)) return;
  close_batch(false); // the batch has no bytes left
  if (!strip.refill(batches_)) strip.use_own_memory(batches_);
}

void event_builder::collect_summaries() {
  for (auto* spill : spills_.tables()) {
    if (const auto summary = spill->take_summary()) due_.push_back(*summary);
  }
  counters_.spills.add(spills_.spills_begun() - counters_.spills);
}

/// Ends a locked section and reports the spills that are due, without the lock.
void event_builder::call_hook(std::unique_lock<std::mutex>& lock) {
  if (due_.empty()) return;
  const auto due = std::move(due_);
  due_.clear();
  lock.unlock();
  for (const auto& summary : due) on_end_of_spill_(summary);
}

} // namespace l3
