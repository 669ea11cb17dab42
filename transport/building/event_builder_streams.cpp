// SPDX-License-Identifier: Apache-2.0
// The event builder takes event records. They come whole, so it admits each event at once.
#include <algorithm>
#include <cstring>
#include <utility>

#include "transport/building/event_builder.hpp"

namespace l3 {

void event_builder::attach(stream_landing& stream, std::uint64_t hello) {
  const std::lock_guard lock(mutex_);
  stream.id_ = ++streams_attached_;
  stream.hello_ = hello;
  streams_.push_back(&stream);
}

void event_builder::detach(stream_landing& stream) {
  const std::lock_guard lock(mutex_);
  if (stream.at_ != nullptr) --stream.at_->reserved;
  stream.at_ = nullptr;
  leave_spill(stream);
  for (auto* spill : spills_.tables()) spill->stream_gone(stream.id_);
  std::erase(streams_, &stream);
}

bool event_builder::reserve(stream_landing& stream, std::size_t bytes, time_point now) {
  std::unique_lock lock(mutex_);
  advance(now);
  stream.body_ = bytes;
  stream.filled_ = 0;
  const bool ready = make_room(stream, bytes);
  call_hook(lock);
  return ready;
}

/// Makes room for the body in the current batch, or uses the room that an earlier record left.
bool event_builder::make_room(stream_landing& stream, std::size_t bytes) {
  if (stream.at_ != nullptr && stream.room_ >= bytes) return true;
  auto* batch = batches_.current();
  if (batch == nullptr) return false;
  const bool counted =
      stream.at_ != nullptr; // the stream has an event's place in the batch already
  const auto fits = [&](const batch_in_use& b, bool has_place) {
    return (has_place || b.reserved < b.batch->events.size()) &&
           b.batch->bytes.size() - b.batch->used_bytes >= landing_area::region_bytes(bytes);
  };
  if (!fits(*batch, counted)) {
    if (!close_batch(false)) return false;
    batch = batches_.current();
    if (!fits(*batch, false)) return false;
  }
  if (stream.at_ == nullptr) ++batch->reserved;
  stream.at_ = batch;
  stream.offset_ = batch->landing.region(bytes).value();
  stream.room_ = bytes;
  return true;
}

/// Moves the part of the body that was read out of a batch that closes.
void event_builder::set_aside(stream_landing& stream) {
  std::memcpy(stream.own_.data(), stream.at_->batch->bytes.data() + stream.offset_, stream.filled_);
  stream.at_ = nullptr;
  stream.room_ = 0;
}

std::byte* event_builder::enter(stream_landing& stream) {
  const std::lock_guard lock(mutex_);
  if (stream.at_ == nullptr) return stream.own_.data();
  batches_.enter(*stream.at_);
  stream.inside_ = true;
  return stream.at_->batch->bytes.data() + stream.offset_;
}

void event_builder::leave(stream_landing& stream, std::size_t filled) {
  const std::lock_guard lock(mutex_);
  stream.filled_ = filled;
  if (stream.at_ == nullptr) return;
  stream.inside_ = false;
  auto& batch = *stream.at_;
  if (batch.closed) set_aside(stream);
  batches_.leave(batch);
}

event_builder::stream_result event_builder::take_event(stream_landing& stream,
                                                       std::uint32_t spill_number, time_point now) {
  std::unique_lock lock(mutex_);
  advance(now);
  const std::byte* body =
      stream.at_ != nullptr ? stream.at_->batch->bytes.data() + stream.offset_ : stream.own_.data();
  if (const auto reason = parse_event({body, stream.body_}, settings_.crates, stream_event_))
    return {stream_outcome::refused, 0, *reason};
  if (stream_event_.number > settings_.max_events_per_spill)
    return {stream_outcome::refused, 0, refused::stream_content};

  const event_key key{spill_number, stream_event_.number};
  spill_table* spill = spills_.recorded(spill_number, now_);
  if (is_repeat(spill, key)) return take_repeat(key, body);
  if (spill != nullptr && spill->state(key.number) == spill_table::event_state::open)
    give_way_to_record(*spill, key.number);
  if (stream.at_ == nullptr) { // the body was set aside: it moves back into a batch
    if (!make_room(stream, stream.body_)) return {stream_outcome::wait, 0, {}};
    std::memcpy(stream.at_->batch->bytes.data() + stream.offset_, stream.own_.data(), stream.body_);
    for (auto& f : stream_event_.fragments)
      f.bytes = {stream.at_->batch->bytes.data() + stream.offset_ + (f.bytes.data() - body),
                 f.bytes.size()};
  }
  admit_stream_event(stream, key);
  const auto result = counted();
  close_if_full();
  call_hook(lock);
  return result;
}

/// A record that has all fragments of an event that was given up before is not a repeat.
bool event_builder::is_repeat(const spill_table* spill, event_key key) const {
  using state = spill_table::event_state;
  if (spills_.was_admitted(key)) return true;
  const bool ended = spill != nullptr && spill->state(key.number) != state::untouched &&
                     spill->state(key.number) != state::open;
  return ended && stream_event_.fragments.size() < settings_.crates.size();
}

event_builder::stream_result event_builder::take_repeat(event_key key, const std::byte* memory) {
  const std::size_t fragments = stream_event_.fragments.size();
  counters_.fragments_seen.add(fragments);
  collect_record(memory);
  auto& known = spills_.known();
  if (known.has_another(key, admission_.mark_of(key, arrived_))) {
    counters_.fragments_conflicting.add(fragments);
    if (known.first_conflict(key)) conflicts_.push_back(key);
    return {stream_outcome::refused, 0, refused::stream_conflict, false, key};
  }
  counters_.fragments_duplicate.add(fragments);
  auto result = counted();
  result.known = true;
  return result;
}

/// Drops an event that datagrams have begun: its record has all of it, so the datagrams are the
/// repeats.
void event_builder::give_way_to_record(spill_table& spill, std::uint32_t number) {
  const auto handle = spill.handle(number);
  for (const auto& f : events_[handle].fragments) {
    if (f.seen) counters_.fragments_duplicate.add();
  }
  spill.forget(number);
  release(handle, false);
}

/// Notes where in `memory` the fragments of the record are.
void event_builder::collect_record(const std::byte* memory) {
  auto& fragments = stream_event_.fragments;
  std::sort(fragments.begin(), fragments.end(),
            [](const auto& a, const auto& b) { return a.crate < b.crate; });
  arrived_.clear();
  for (const auto& f : fragments) {
    arrived_fragment a;
    a.crate = static_cast<std::uint8_t>(f.crate);
    a.whole = true;
    arrived_pieces_[f.crate] = static_cast<piece_offset>(f.bytes.data() - memory);
    a.where = {memory, &arrived_pieces_[f.crate],
               static_cast<std::uint32_t>(std::max<std::uint64_t>(round_up(f.bytes.size(), 4), 4)),
               static_cast<std::uint32_t>(f.bytes.size())};
    arrived_.push_back(a);
  }
}

void event_builder::admit_stream_event(stream_landing& stream, event_key key) {
  auto& batch = *stream.at_;
  collect_record(batch.batch->bytes.data());
  std::uint64_t seen = 0;
  for (const auto& a : arrived_) seen |= std::uint64_t{1} << a.crate;
  counters_.fragments_seen.add(arrived_.size());
  auto verdict = admission_.judge(key, arrived_);
  verdict.flags |= event_kept_by_sender;
  if (verdict.admit) {
    if (batch.batch->used_events == 0) batch.first_admitted = now_;
    admission_.write(key, verdict, arrived_, now_, *batch.batch);
    batches_.count_event();
    stream.at_ = nullptr; // the event has its room now
    stream.room_ = 0;
  }
  if (auto* spill = spills_.find(key.spill); spill != nullptr)
    spill->finish(key.number, {verdict.complete, verdict.admit, seen, 0});
  if (verdict.admit) spills_.set_admitted(key, verdict.mark);
}

std::vector<event_key> event_builder::fetch_conflicts() {
  const std::lock_guard lock(mutex_);
  return std::exchange(conflicts_, {});
}

void event_builder::leave_spill(stream_landing& stream) {
  if (!stream.spill_) return;
  if (auto* spill = spills_.find(*stream.spill_); spill != nullptr && spill->streams > 0)
    --spill->streams;
  stream.spill_.reset();
}

event_builder::stream_result
event_builder::begin_of_spill(stream_landing& stream, std::uint32_t spill_number, time_point now) {
  std::unique_lock lock(mutex_);
  advance(now);
  auto* spill = spills_.recorded(spill_number, now_);
  if (stream.spill_ != spill_number) {
    leave_spill(stream);
    if (spill != nullptr) ++spill->streams;
    stream.spill_ = spill_number;
  }
  if (spill != nullptr) spill->closed = false;
  const auto result = counted();
  call_hook(lock);
  return result;
}

event_builder::stream_result event_builder::end_of_spill(stream_landing& stream,
                                                         std::uint32_t spill_number,
                                                         std::uint64_t sequence,
                                                         std::uint32_t events, time_point now) {
  std::unique_lock lock(mutex_);
  advance(now);
  counters_.ends_of_spill.add();
  if (auto* spill = spills_.recorded(spill_number, now_); spill != nullptr) {
    spill->end_of_stream({stream.id_, sequence, events, sequence < stream.hello_});
    if (stream.spill_ == spill_number) leave_spill(stream);
    if (spill->streams == 0) spill->closed = true;
  }
  collect_summaries();
  const auto result = counted();
  call_hook(lock);
  return result;
}

/// A record that is counted and lies in no batch is as safe as the events admitted before it.
event_builder::stream_result event_builder::counted() const {
  return {stream_outcome::counted, batches_.last_serial(), {}};
}

} // namespace l3
