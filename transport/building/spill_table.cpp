// SPDX-License-Identifier: Apache-2.0
#include "transport/building/spill_table.hpp"

#include <algorithm>
#include <cassert>

namespace l3 {
namespace {

constexpr std::uint32_t max_parts = 64;

/// Ends of streams that are remembered to detect repeats: far more than connections in a spill.
constexpr std::size_t max_stream_ends = 64;

constexpr std::uint64_t bit(std::uint32_t n) { return std::uint64_t{1} << n; }

} // namespace

spill_table::spill_table(std::uint32_t max_events, std::uint32_t crates)
    : events_(max_events + 1), counted_(max_events + 1), ends_(crates) {
  stream_ends_.reserve(max_stream_ends);
}

void spill_table::begin(std::uint32_t spill, std::uint64_t nth, time_point now) {
  assert(open_ == 0);
  number = spill;
  nth_ = nth;
  last_activity = now;
  std::fill_n(events_.begin(), highest_ + 1, 0);
  std::fill_n(counted_.begin(), highest_ + 1, 0);
  std::fill(ends_.begin(), ends_.end(), crate_end{});
  confirmed = proven = closed = is_first = false;
  statement = stated_by = 0;
  statements = 0;
  streams = 0;
  highest_ = lowest_ = begun_ = 0;
  complete_ends_ = 0;
  most_sent_ = 0;
  admitted_ = incomplete_ = stream_sum_ = 0;
  stream_ends_.clear();
  stream_ended_ = false;
  unreported_ = false;
}

void spill_table::open(std::uint32_t event_number, std::uint32_t handle) {
  assert(state(event_number) == event_state::untouched);
  events_[event_number] = first_handle + handle;
  note_begun(event_number);
  ++open_;
}

void spill_table::note_begun(std::uint32_t event_number) {
  highest_ = std::max(highest_, event_number);
  if (lowest_ == 0 || event_number < lowest_) lowest_ = event_number;
  ++begun_;
}

void spill_table::finish(std::uint32_t event_number, const outcome& o) {
  using enum event_state;
  const auto before = state(event_number);
  if (before == event_state::open) --open_;
  if (before == untouched) note_begun(event_number);
  count(before, ~std::uint64_t{0}); // removes it from the sums, if it was in them
  const auto after = o.whole ? (o.admitted ? whole : repeat) : (o.admitted ? forwarded : given_up);
  count(after, 1);
  events_[event_number] = static_cast<std::uint32_t>(after);
  counted_[event_number] = o.counted;
  unreported_ = true;
}

void spill_table::count(event_state state, std::uint64_t events) {
  using enum event_state;
  if (state == whole || state == forwarded) admitted_ += events;
  if (state == given_up || state == forwarded) incomplete_ += events;
}

void spill_table::forget(std::uint32_t event_number) {
  assert(is_open(event_number));
  events_[event_number] = 0;
  --open_;
  --begun_;
}

bool spill_table::first_late(std::uint32_t event_number, std::uint32_t crate) {
  const bool first = (counted_[event_number] & bit(crate)) == 0;
  counted_[event_number] |= bit(crate);
  return first;
}

bool spill_table::crate_end::complete() const {
  return parts != 0 && have == (parts == max_parts ? ~std::uint64_t{0} : bit(parts) - 1);
}

void spill_table::end_of_spill(std::uint32_t crate, std::uint32_t part, std::uint32_t parts,
                               std::uint32_t count) {
  // Older level-2 firmware leaves stale numbers in these fields; such an end of spill has one part.
  if (parts == 0 || parts > max_parts || part >= parts) {
    part = 0;
    parts = 1;
  }
  crate_end& end = ends_[crate];
  if (end.parts == 0) end.parts = parts;
  if (end.parts != parts || (end.have & bit(part)) != 0) return;
  end.have |= bit(part);
  end.count += count;
  unreported_ = true;
  if (!end.complete()) return;
  ++complete_ends_;
  most_sent_ = std::max(most_sent_, end.count);
}

/// Two equal records come from one sender, unless both were sent for the first time over two open
/// connections. A repeated record may overtake the first one, which waits in the buffers of the
/// broken connection.
void spill_table::end_of_stream(const stream_end& end) {
  unreported_ = true;
  stream_ended_ = true;
  const auto known = std::ranges::find_if(stream_ends_, [&](const stream_end& e) {
    const bool is_the_same = end.again || e.again || e.stream == 0;
    return is_the_same && e.record == end.record && e.events == end.events;
  });
  if (known != stream_ends_.end()) {
    known->stream = end.stream;
    known->again = known->again && end.again;
    return;
  }
  if (stream_ends_.size() == max_stream_ends) stream_ends_.erase(stream_ends_.begin());
  stream_ends_.push_back(end);
  stream_sum_ += end.events;
}

void spill_table::stream_gone(std::uint64_t stream) {
  for (auto& e : stream_ends_) {
    if (e.stream == stream) e.stream = 0;
  }
}

std::optional<std::uint64_t> spill_table::expected() const {
  if (complete_ends_ == 0 && !stream_ended_) return std::nullopt;
  // Events from datagrams and from records may be the same or different ones.
  const std::uint64_t most = std::max(most_sent_, stream_sum_);
  return most >= admitted_ + incomplete_ ? most : most_sent_ + stream_sum_;
}

std::uint64_t spill_table::missing() const {
  return most_sent_ - std::min(most_sent_, begun_ + before_the_run());
}

std::optional<spill_summary> spill_table::take_summary() {
  if (!number || !confirmed || !closed || open_ != 0 || !unreported_) return std::nullopt;
  unreported_ = false;
  auto sent = expected();
  if (sent) *sent -= std::min(*sent, before_the_run());
  return spill_summary{*number, admitted_, incomplete_, sent, nth_, missing()};
}

} // namespace l3
