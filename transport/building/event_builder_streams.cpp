// SPDX-License-Identifier: Apache-2.0
// The event builder takes event records. They are complete, so it admits each event at once.
#include <algorithm>
#include <cstring>

#include "transport/building/event_builder.hpp"

namespace l3 {

void event_builder::attach(stream_landing& stream, std::uint64_t hello) {
  const std::lock_guard me(mutex_);
  stream.id_ = ++streams_attached_;
  stream.hello_ = hello;
  stream.candidate_.emplace(settings_);
  streams_.push_back(&stream);
}

void event_builder::detach(stream_landing& stream) {
  const std::lock_guard me(mutex_);
  if (stream.at_ != nullptr) give_room_back(stream);
  leave_spill(stream);
  spills_.stream_gone(stream.id_);
  std::erase(streams_, &stream);
  finish();
}

bool event_builder::reserve(stream_landing& stream, std::size_t bytes, time_point now) {
  const auto me = own(now);
  stream.body_ = bytes;
  stream.filled_ = 0;
  const bool ready = make_room(stream, bytes);
  finish();
  return ready;
}

/// Reserves room for the body in the current batch, or uses the room left by an earlier record.
bool event_builder::make_room(stream_landing& stream, std::size_t bytes) {
  if (stream.at_ != nullptr && stream.room_ >= bytes) return true;
  if (stream.at_ != nullptr) give_room_back(stream);
  const std::size_t room = landing_area::region_bytes(bytes);
  if (!find_room(room)) return false;
  stream.at_ = batches_.current();
  ++stream.at_->reserved;
  ++stream.at_->open;
  stream.offset_ = stream.at_->landing.region(bytes).value();
  stream.room_ = bytes;
  return true;
}

void event_builder::give_room_back(stream_landing& stream) {
  --stream.at_->reserved;
  --stream.at_->open;
  stream.at_ = nullptr;
  stream.room_ = 0;
}

/// Moves the part of the body that was read out of a batch that must go.
void event_builder::set_aside(stream_landing& stream) {
  std::memcpy(stream.own_.data(), stream.at_->batch->bytes.data() + stream.offset_, stream.filled_);
  give_room_back(stream);
}

/// Moves a saved body back into a batch; returns false if there is no room.
bool event_builder::move_into_batch(stream_landing& stream) {
  if (stream.at_ != nullptr) return true;
  if (!make_room(stream, stream.body_)) return false;
  std::memcpy(stream.at_->batch->bytes.data() + stream.offset_, stream.own_.data(), stream.body_);
  return true;
}

std::byte* event_builder::enter(stream_landing& stream) {
  const std::lock_guard me(mutex_);
  stream.inside_.store(true, std::memory_order_relaxed);
  return stream.at_ == nullptr ? stream.own_.data()
                               : stream.at_->batch->bytes.data() + stream.offset_;
}

void event_builder::leave(stream_landing& stream, std::size_t filled) {
  stream.filled_ = filled;
  stream.inside_.store(false, std::memory_order_release);
}

event_builder::stream_result event_builder::take_event(stream_landing& stream,
                                                       std::uint32_t spill_number, time_point now) {
  const std::byte* body = enter(stream); // so that the body stays in place
  const auto problem = look_into_record(stream, {body, stream.body_}, spill_number);
  const auto me = own(now);
  const auto result = problem ? stream_result{stream_outcome::refused, 0, *problem, false, {}}
                              : take_record(stream);
  if (result.outcome != stream_outcome::wait) stream.filled_ = 0;
  stream.inside_.store(false, std::memory_order_relaxed);
  settle();
  finish();
  return result;
}

/// Parses the record and reads its fragments. Needs no owner.
std::optional<refused> event_builder::look_into_record(stream_landing& stream,
                                                       std::span<const std::byte> body,
                                                       std::uint32_t spill) const {
  if (const auto reason = parse_event(body, settings_.crates, stream.view_)) return reason;
  if (stream.view_.number > settings_.max_events_per_spill) return refused::stream_content;
  candidate_event& candidate = *stream.candidate_;
  auto& fragments = stream.view_.fragments;
  std::ranges::sort(fragments, {}, &crate_fragment::crate);
  candidate.key = {spill, stream.view_.number};
  candidate.fragments.clear();
  for (const auto& f : fragments) {
    arrived_fragment a;
    a.crate = static_cast<std::uint8_t>(f.crate);
    a.whole = true;
    candidate.own_pieces[f.crate] = static_cast<piece_offset>(f.bytes.data() - body.data());
    a.where = {body.data(), &candidate.own_pieces[f.crate],
               static_cast<std::uint32_t>(std::max<std::uint64_t>(round_up(f.bytes.size(), 4), 4)),
               static_cast<std::uint32_t>(f.bytes.size())};
    candidate.fragments.push_back(a);
  }
  admission_.look_into(candidate);
  return std::nullopt;
}

event_builder::stream_result event_builder::take_record(stream_landing& stream) {
  const candidate_event& record = *stream.candidate_;
  spill_table* spill = spills_.recorded(record.key.spill, now_);
  if (is_repeat(record, spill)) return take_repeat(record);
  if (!move_into_batch(stream)) return {stream_outcome::wait};
  if (spill != nullptr && spill->is_open(record.key.number))
    give_way_to_record(*spill, record.key.number);
  admit_record(stream, spill);
  return counted();
}

/// A complete record of an event that was given up is no repeat. A complete record of an event that
/// was forwarded incomplete is one: otherwise two events of one key would be stored.
bool event_builder::is_repeat(const candidate_event& record, const spill_table* spill) const {
  if (spills_.was_admitted(record.key)) return true;
  return spill != nullptr && spill->has_ended(record.key.number) &&
         record.fragments.size() < settings_.crates.size();
}

event_builder::stream_result event_builder::take_repeat(const candidate_event& record) {
  if (spills_.was_another(record.key, record.digest.mark()))
    return {stream_outcome::refused, 0, refused::stream_conflict, false, record.key};
  for (const auto& f : record.fragments) {
    count_as_seen(record.key, f.crate);
    counters_.fragments_duplicate.add(f.crate);
  }
  auto result = counted();
  result.known = spills_.was_admitted(record.key);
  return result;
}

/// Drops an event begun by datagrams, because its record has all of it.
void event_builder::give_way_to_record(spill_table& spill, std::uint32_t event_number) {
  event_assembly& e = events_[spill.handle(event_number)];
  for (std::size_t c = 0; c < e.fragments.size(); ++c)
    if (e.fragments[c].seen) counters_.fragments_duplicate.add(c);
  spill.forget(event_number);
  events_.release(e, false);
}

void event_builder::admit_record(stream_landing& stream, spill_table* spill) {
  candidate_event& candidate = *stream.candidate_;
  batch_in_use& batch = *stream.at_;
  std::uint64_t seen = 0;
  for (auto& f : candidate.fragments) {
    candidate.own_pieces[f.crate] += stream.offset_;
    seen |= std::uint64_t{1} << f.crate;
    count_as_seen(candidate.key, f.crate);
  }
  const auto verdict = admission_.judge(candidate);
  candidate.flags |= event_kept_by_sender;
  if (spill != nullptr) {
    spill->finish(candidate.key.number,
                  {verdict.complete, verdict.admit, verdict.complete ? 0 : seen});
  } else {
    counters_.older_admitted.add(verdict.admit ? 1 : 0);
    counters_.older_incomplete.add(verdict.complete ? 0 : 1);
  }
  if (!verdict.admit) return;
  spills_.set_admitted(candidate.key, candidate.digest.mark());
  stream.at_ = nullptr; // the event owns its room now
  stream.room_ = 0;
  write(candidate, batch);
  --batch.open;
}

void event_builder::leave_spill(stream_landing& stream) {
  if (!stream.spill_) return;
  if (auto* spill = spills_.find(*stream.spill_); spill != nullptr && spill->streams > 0)
    --spill->streams;
  stream.spill_.reset();
}

event_builder::stream_result
event_builder::begin_of_spill(stream_landing& stream, std::uint32_t spill_number, time_point now) {
  const auto me = own(now);
  auto* spill = spills_.recorded(spill_number, now_);
  if (stream.spill_ != spill_number) {
    leave_spill(stream);
    if (spill != nullptr) ++spill->streams;
    stream.spill_ = spill_number;
  }
  if (spill != nullptr) spill->closed = false;
  settle();
  finish();
  return counted();
}

event_builder::stream_result event_builder::end_of_spill(stream_landing& stream,
                                                         std::uint32_t spill_number,
                                                         std::uint64_t sequence,
                                                         std::uint32_t events, time_point now) {
  const auto me = own(now);
  counters_.ends_of_spill.add();
  if (auto* spill = spills_.recorded(spill_number, now_); spill != nullptr) {
    spill->end_of_stream({stream.id_, sequence, events, sequence < stream.hello_});
    if (stream.spill_ == spill_number) leave_spill(stream);
    if (spill->streams == 0) spill->closed = true;
  }
  settle();
  spills_.take_summaries(due_);
  finish();
  return counted();
}

/// A record that is counted but in no batch is as safe as the events admitted before it.
event_builder::stream_result event_builder::counted() const {
  return {stream_outcome::counted, batches_.last_serial()};
}

} // namespace l3
