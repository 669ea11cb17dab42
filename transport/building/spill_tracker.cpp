// SPDX-License-Identifier: Apache-2.0
#include "transport/building/spill_tracker.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <utility>

namespace l3 {
namespace {

/// How many different datagrams must agree before the spill that they name becomes current. A past
/// spill comes again when a sender restarts; late datagrams, or a late crate, must not look so.
constexpr std::uint32_t statements_of_newer = 2;
constexpr std::uint32_t statements_of_older = 64;
/// How many datagrams prove a spill without a whole event.
constexpr std::uint32_t statements_that_prove = 64;

/// A spill without a marked end is over after this silence, longer than any stall in it.
constexpr auto longest_stall = std::chrono::seconds(10);

/// Four in use, and one datagram can end two: by replacing a candidate and confirming the new one.
constexpr std::size_t tables = 6;

bool is(const spill_table* t, std::uint32_t spill) { return t != nullptr && t->number == spill; }

} // namespace

spill_tracker::spill_tracker(const building_settings& settings) : settings_(settings) {
  for (std::size_t t = 0; t < tables; ++t)
    free_.push_back(&tables_.emplace_back(settings.max_events_per_spill, settings.crates.size()));
  over_.reserve(tables);
}

std::size_t spill_tracker::memory_plan(const building_settings& settings) {
  constexpr std::size_t in_tables = tables * (sizeof(std::uint32_t) + sizeof(std::uint64_t));
  constexpr std::size_t of_marks = known_events::spills * sizeof(std::uint32_t);
  return (std::size_t{settings.max_events_per_spill} + 1) * (in_tables + of_marks);
}

spill_table* spill_tracker::stated(std::uint32_t spill, std::uint64_t statement, time_point now,
                                   std::uint64_t by) {
  if (is(current_, spill)) {
    if (!current_->all_arrived()) current_->closed = false;
    // A few flipped bits, far apart, confirm nothing.
    for (auto* c : candidates_) {
      if (c != nullptr && c->statements > 0) --c->statements;
    }
    state(*current_, statement, now);
    if (current_->statements >= statements_that_prove) prove(*current_);
    return current_;
  }
  if (is(previous_, spill)) {
    previous_->last_activity = now;
    return previous_;
  }
  spill_table** at = candidate(spill, now);
  if (at == nullptr) return nullptr;
  spill_table* table = *at;
  state(*table, statement, now);
  table->stated_by |= by;
  const auto crates = static_cast<std::size_t>(std::popcount(table->stated_by));
  if (is_older(spill) ? table->statements >= statements_of_older && settings_.is_half(crates)
                      : table->statements >= statements_of_newer)
    confirm(*at);
  return table;
}

void spill_tracker::state(spill_table& table, std::uint64_t statement, time_point now) {
  table.last_activity = now;
  if (table.statement == statement) return;
  table.statement = statement;
  ++table.statements;
}

/// Whether the spill is newer than the current one, or the current one has ended or is not proven.
bool spill_tracker::may_follow(std::uint32_t spill) const {
  return current_ == nullptr || current_->closed || !current_->proven ||
         spill_distance(*current_->number, spill) > 0;
}

bool spill_tracker::is_older(std::uint32_t spill) const {
  return newest_ && spill_distance(*newest_, spill) <= 0;
}

/// A replaced candidate is not used again, although its event is whole.
void spill_tracker::confirm_by(spill_table& table, std::uint32_t event_number) {
  if (table.proven || is_repeat({*table.number, event_number})) return;
  const auto at = std::ranges::find(candidates_, &table);
  if (at != candidates_.end() && !(table.confirmed && current_->proven)) confirm(*at);
  table.confirmed = true;
  prove(table);
}

spill_table* spill_tracker::unstated(std::uint32_t event_number) {
  for (auto* t : in_use()) {
    if (t != nullptr && t->is_open(event_number)) return t;
  }
  return current_;
}

spill_table* spill_tracker::recorded(std::uint32_t spill, time_point now) {
  spill_table* table = is(current_, spill) ? current_ : is(previous_, spill) ? previous_ : nullptr;
  if (table == nullptr) {
    spill_table** at = candidate(spill, now);
    if (at == nullptr) return nullptr;
    table = *at;
    confirm(*at);
  }
  table->last_activity = now;
  prove(*table);
  return table;
}

spill_table* spill_tracker::find(std::uint32_t spill) {
  for (auto* t : in_use()) {
    if (is(t, spill)) return t;
  }
  return nullptr;
}

/// A new candidate replaces the one that was silent for longest.
spill_table** spill_tracker::candidate(std::uint32_t spill, time_point now) {
  auto& [one, other] = candidates_;
  if (is(one, spill)) return &one;
  if (is(other, spill)) return &other;
  if (!may_follow(spill) || free_.empty()) return nullptr;
  const bool is_first =
      one == nullptr || (other != nullptr && one->last_activity <= other->last_activity);
  spill_table*& place = is_first ? one : other;
  is_over(place);
  place = free_.back();
  free_.pop_back();
  place->begin(spill, ++tables_taken_, now);
  return &place;
}

void spill_tracker::confirm(spill_table*& candidate) {
  spill_table* before = std::exchange(current_, std::exchange(candidate, nullptr));
  if (before != nullptr && before->proven) {
    ends_are_marked_ = before->expected().has_value();
    is_over(previous_);
    previous_ = before;
  } else if (before != nullptr) {
    before->statements = 0;
    before->last_activity = current_->last_activity; // it stays for a while
    candidate = before;
  }
  if (!current_->confirmed) ++begun_;
  current_->confirmed = true;
  if (current_->statements >= statements_that_prove) prove(*current_);
}

void spill_tracker::prove(spill_table& table) {
  if (table.proven) return;
  table.proven = true;
  table.is_first = !newest_;
  forget_events(*table.number);
  if (&table == current_ && previous_ != nullptr) previous_->closed = true;
}

void spill_tracker::set_admitted(event_key key, std::uint32_t mark) {
  if (auto* table = find(key.spill); table != nullptr) prove(*table);
  forget_events(key.spill);
  known_.add(key, mark);
}

void spill_tracker::is_over(spill_table*& table) {
  if (table == nullptr) return;
  table->closed = true;
  over_.push_back(std::exchange(table, nullptr));
}

void spill_tracker::tick(time_point now) {
  const auto silent = [&](const spill_table& t) {
    return t.streams == 0 && now - t.last_activity >= settings_.spill_time_limit;
  };
  for (auto* t : {previous_, current_}) {
    if (t != nullptr && (silent(*t) || t->all_arrived())) t->closed = true;
  }
  long_silent_ = current_ != nullptr && now - current_->last_activity >= longest_stall;
  for (auto*& c : candidates_) {
    if (c != nullptr && silent(*c) && c->open_events() == 0) is_over(c);
  }
}

void spill_tracker::close_all() {
  for (auto*& c : candidates_) is_over(c);
  for (auto* t : {current_, previous_}) {
    if (t != nullptr) t->closed = true;
  }
}

spill_table* spill_tracker::with_events_to_end() {
  const auto at = std::ranges::find_if(over_, [](auto* t) { return t->open_events() > 0; });
  return at == over_.end() ? nullptr : *at;
}

bool spill_tracker::free_one_over(std::vector<spill_summary>& out) {
  const auto at = std::ranges::find_if(over_, [](auto* t) { return t->open_events() == 0; });
  if (at == over_.end()) return false;
  if (const auto summary = (*at)->take_summary()) out.push_back(*summary);
  free_.push_back(*at);
  over_.erase(at);
  return true;
}

void spill_tracker::take_summaries(std::vector<spill_summary>& out) {
  for (auto* t : in_use()) {
    if (t == nullptr) continue;
    if (const auto summary = t->take_summary()) out.push_back(*summary);
  }
}

void spill_tracker::stream_gone(std::uint64_t stream) {
  for (auto* t : in_use()) {
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
