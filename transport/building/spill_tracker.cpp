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

/// Three in use, and one datagram can end two: the next spill gives way to another, which it
/// confirms.
constexpr std::size_t tables = 5;

bool is_open(const spill_table* t, std::uint32_t event_number) {
  return t != nullptr && t->state(event_number) == spill_table::event_state::open;
}

bool is(const spill_table* t, std::uint32_t spill) { return t != nullptr && t->number == spill; }

} // namespace

spill_tracker::spill_tracker(const building_settings& settings)
    : silence_(settings.spill_time_limit),
      known_(settings.max_events_per_spill, settings.remembered_marks) {
  for (std::size_t t = 0; t < tables; ++t) {
    tables_.push_back(
        std::make_unique<spill_table>(settings.max_events_per_spill, settings.crates.size()));
    free_.push_back(tables_.back().get());
  }
  over_.reserve(tables);
}

spill_table* spill_tracker::stated(std::uint32_t spill, std::uint64_t statement, time_point now) {
  if (is(current_, spill)) {
    if (!current_->all_arrived()) current_->closed = false;
    current_->last_activity = now;
    // A few flipped bits, far apart, confirm nothing.
    if (next_ != nullptr && next_->statements > 0) --next_->statements;
    return current_;
  }
  if (is(previous_, spill)) return previous_;
  if (!is(next_, spill) && (!may_follow(spill) || !begin_next(spill, now))) return nullptr;
  spill_table* next = next_;
  next->last_activity = now;
  state_next(statement);
  return next;
}

/// A spill before the current one may follow it when that has ended.
bool spill_tracker::may_follow(std::uint32_t spill) const {
  return current_ == nullptr || current_->closed || spill_distance(*current_->number, spill) > 0;
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

/// A next spill that has given way to another is not taken up again, but its event is whole.
void spill_tracker::confirm_by(spill_table& table, std::uint32_t event_number) {
  if (table.confirmed || is_repeat({*table.number, event_number})) return;
  if (&table == next_) return confirm_next();
  forget_events(*table.number);
  table.confirmed = true;
}

spill_table* spill_tracker::unstated(std::uint32_t event_number) {
  for (auto* t : {current_, next_, previous_}) {
    if (is_open(t, event_number)) return t;
  }
  return current_;
}

spill_table* spill_tracker::recorded(std::uint32_t spill, time_point now) {
  for (auto* t : {current_, previous_}) {
    if (is(t, spill)) {
      t->last_activity = now;
      return t;
    }
  }
  if (!is(next_, spill) && (!may_follow(spill) || !begin_next(spill, now))) return nullptr;
  confirm_next();
  return current_;
}

spill_table* spill_tracker::find(std::uint32_t spill) {
  for (auto* t : {previous_, current_, next_}) {
    if (is(t, spill)) return t;
  }
  return nullptr;
}

bool spill_tracker::begin_next(std::uint32_t spill, time_point now) {
  if (free_.empty()) return false;
  is_over(next_);
  next_ = free_.back();
  free_.pop_back();
  next_->begin(spill, now);
  return true;
}

void spill_tracker::confirm_next() {
  forget_events(*next_->number);
  if (current_ != nullptr) current_->closed = true;
  is_over(previous_);
  previous_ = current_;
  current_ = std::exchange(next_, nullptr);
  current_->confirmed = true;
  ++begun_;
}

void spill_tracker::is_over(spill_table*& table) {
  if (table == nullptr) return;
  table->in_use = false;
  table->closed = true;
  over_.push_back(std::exchange(table, nullptr));
}

void spill_tracker::tick(time_point now) {
  if (current_ == nullptr || current_->closed) return;
  const bool silent = current_->streams == 0 && now - current_->last_activity >= silence_;
  if (silent || current_->all_arrived()) current_->closed = true;
}

void spill_tracker::close_all() {
  is_over(next_);
  for (auto* t : {current_, previous_}) {
    if (t != nullptr) t->closed = true;
  }
}

spill_table* spill_tracker::with_events_to_end() {
  const auto at = std::ranges::find_if(over_, [](auto* t) { return t->open_events() > 0; });
  return at == over_.end() ? nullptr : *at;
}

spill_table* spill_tracker::take_to_clear(std::vector<spill_summary>& out) {
  const auto at = std::ranges::find_if(over_, [](auto* t) { return t->open_events() == 0; });
  if (at == over_.end()) return nullptr;
  spill_table* table = *at;
  over_.erase(at);
  if (const auto summary = table->take_summary()) out.push_back(*summary);
  return table;
}

void spill_tracker::give_back(spill_table& table) { free_.push_back(&table); }

void spill_tracker::take_summaries(std::vector<spill_summary>& out) {
  for (auto* t : {previous_, current_, next_}) {
    if (t == nullptr) continue;
    if (const auto summary = t->take_summary()) out.push_back(*summary);
  }
}

void spill_tracker::stream_gone(std::uint64_t stream) {
  for (auto* t : {previous_, current_, next_}) {
    if (t != nullptr) t->stream_gone(stream);
  }
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
