// SPDX-License-Identifier: Apache-2.0
#include "transport/building/spill_tracker.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace l3 {
namespace {

/// How many different datagrams must agree before the spill that they name becomes current. A spill
/// that was over comes again when a sender begins anew; a few late datagrams must not look like
/// that.
constexpr std::uint32_t statements_of_newer = 2;
constexpr std::uint32_t statements_of_older = 64;

bool is_open(const spill_table& t, std::uint32_t event_number) {
  return t.in_use && t.state(event_number) == spill_table::event_state::open;
}

} // namespace

spill_tracker::spill_tracker(const building_settings& settings, retire on_retire)
    : silence_(settings.spill_time_limit), retire_(std::move(on_retire)),
      known_(settings.max_events_per_spill, settings.remembered_marks) {
  for (auto* t : {&previous_, &current_, &next_})
    *t = std::make_unique<spill_table>(settings.max_events_per_spill, settings.crates.size());
  current_->closed = true; // any first datagram begins a spill
}

spill_table* spill_tracker::stated(std::uint32_t spill, std::uint64_t statement, time_point now) {
  if (current_->number == spill) {
    if (!current_->all_arrived()) current_->closed = false;
    current_->last_activity = now;
    if (next_->statements > 0)
      --next_->statements; // a few flipped bits, far apart, confirm nothing
    return current_.get();
  }
  if (previous_->in_use && previous_->number == spill) return previous_.get();
  if (!next_->in_use || next_->number != spill) {
    const bool older = current_->number && spill_distance(*current_->number, spill) < 0;
    if (older && !current_->closed) return nullptr;
    begin_next(spill, now);
  }
  spill_table* next = next_.get();
  next->last_activity = now;
  state_next(statement);
  return next;
}

void spill_tracker::state_next(std::uint64_t statement) {
  if (next_->statement == statement) return;
  next_->statement = statement;
  ++next_->statements;
  if (next_->statements >= (is_older(*next_->number) ? statements_of_older : statements_of_newer))
    confirm_next();
}

bool spill_tracker::is_older(std::uint32_t spill) const {
  return newest_ && spill_distance(*newest_, spill) <= 0;
}

void spill_tracker::confirm_by(spill_table& table, std::uint32_t event_number) {
  if (confirmed(table)) return;
  if (is_repeat({*table.number, event_number})) return;
  confirm_next();
}

spill_table* spill_tracker::unstated(std::uint32_t event_number) {
  for (auto* t : {current_.get(), next_.get(), previous_.get()}) {
    if (is_open(*t, event_number)) return t;
  }
  return current_->in_use ? current_.get() : nullptr;
}

spill_table* spill_tracker::recorded(std::uint32_t spill, time_point now) {
  for (auto* t : {current_.get(), previous_.get()}) {
    if (t->in_use && t->number == spill) {
      t->last_activity = now;
      return t;
    }
  }
  const bool older = current_->number && spill_distance(*current_->number, spill) < 0;
  if (older && !current_->closed) return nullptr;
  if (!next_->in_use || next_->number != spill) begin_next(spill, now);
  confirm_next();
  return current_.get();
}

spill_table* spill_tracker::find(std::uint32_t spill) {
  for (auto* t : tables()) {
    if (t->in_use && t->number == spill) return t;
  }
  return nullptr;
}

void spill_tracker::confirm_next() {
  assert(next_->in_use && next_->number);
  forget_events(*next_->number);
  current_->closed = true;
  previous_->in_use = false;
  std::swap(previous_, current_);
  std::swap(current_, next_);
  ++begun_;
}

void spill_tracker::begin_next(std::uint32_t spill, time_point now) {
  abandon_next();
  next_->reset(spill, now);
}

/// One of its last events may confirm the next spill: then the previous spill takes its place.
void spill_tracker::abandon_next() {
  do {
    spill_table& table = *next_;
    retire_(table);
    if (&table == next_.get()) table.in_use = false;
  } while (next_->in_use || next_->open_events() > 0);
}

void spill_tracker::tick(time_point now) {
  if (!next_->in_use) abandon_next();
  if (!current_->in_use || current_->closed) return;
  const bool silent = current_->streams == 0 && now - current_->last_activity >= silence_;
  if (silent || current_->all_arrived()) current_->closed = true;
}

void spill_tracker::close_all() {
  abandon_next();
  current_->closed = true;
  previous_->closed = true;
}

void spill_tracker::forget_events(std::uint32_t upto) {
  if (!newest_) newest_ = upto;
  if (spill_distance(*newest_, upto) <= 0) return;
  while (*newest_ != upto) {
    newest_ = (*newest_ + 1) & l2::spill_mask;
    known_.forget(*newest_);
  }
}

} // namespace l3
