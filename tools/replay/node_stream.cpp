// SPDX-License-Identifier: Apache-2.0
#include "tools/replay/node_stream.hpp"

#include <algorithm>
#include <system_error>

#include <fmt/format.h>

#include "transport/format/crc32c.hpp"
#include "transport/format/endian.hpp"
#include "transport/format/time.hpp"

namespace l3 {

std::size_t record_maker::bytes_of(const replay_step& s) const {
  const auto body = [&] {
    switch (s.type) {
    case record_type::event: return source_.spills()[s.of.spill].events[s.event].body.size();
    case record_type::begin_of_spill: return sizeof(begin_of_spill_body);
    default: return sizeof(end_of_spill_body);
    }
  };
  return sizeof(record_header) + body();
}

record_maker::record record_maker::hello(std::uint64_t sequence) {
  small_body_ = hello_bytes(source_.run(), source_.crates());
  return {sealed_header(record_type::hello, 0, sequence,
                        static_cast<std::uint32_t>(small_body_.size()), crc32c(small_body_)),
          small_body_};
}

record_maker::record record_maker::make(const replay_step& s, std::uint64_t sequence) {
  const auto& spill = source_.spills()[s.of.spill];
  const auto number = source_.spill_number(spill, s.of.loop);
  const auto sealed = [&](std::span<const std::byte> body, std::uint32_t crc) {
    return record{
        sealed_header(s.type, number, sequence, static_cast<std::uint32_t>(body.size()), crc),
        body};
  };
  const auto sealed_small = [&](const auto& body) {
    small_body_.resize(sizeof body);
    store(small_body_.data(), body);
    return sealed(small_body_, crc32c(small_body_));
  };
  switch (s.type) {
  case record_type::event: {
    const auto& e = spill.events[s.event];
    if (number == spill.number) return sealed(e.body, e.body_crc);
    const auto changed = changer_.change(e.body, spill.number, number);
    return sealed(changed, crc32c(changed));
  }
  case record_type::begin_of_spill:
    return sealed_small(begin_of_spill_body{whole_nanoseconds(spill.beam_on), 0});
  default: return sealed_small(end_of_spill_body{s.events, 0, whole_nanoseconds(spill.cycle)});
  }
}

namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds longest_connecting = 3s;
constexpr std::chrono::milliseconds first_pause = 50ms; // before a new connection; doubles …
constexpr std::chrono::milliseconds longest_pause = 1s; // … up to this
/// If more than this is in flight when a connection breaks, only this much must be acknowledged
/// within the time limit.
constexpr std::size_t most_to_recover = 16U << 20;

} // namespace

node_stream::node_stream(const replay_source& source, const destination& to, const limits& bounds)
    : to_(to), address_(resolve(to)), limits_(bounds), maker_(source) {
  report_.to = to.text();
  connect_in_background();
}

void node_stream::connect_in_background() {
  const auto limit = std::min(std::chrono::duration_cast<std::chrono::milliseconds>(limits_.time),
                              longest_connecting);
  connect_at_.reset();
  const auto how = limits_.alone ? std::launch::deferred : std::launch::async;
  connecting_ = std::async(how, [to = to_, address = address_, limit] {
    return std::make_unique<record_connection>(to, address, limit);
  });
}

void node_stream::wait_for_connection() {
  try {
    connection_ = connecting_.get();
  } catch (const std::system_error& e) {
    trouble_ = e.what();
    note_break(0s);
    connect_at_ = first_pause;
    throw;
  }
  greet();
}

bool node_stream::can_take(std::size_t bytes) const {
  if (!there() || !connection_->done() || !again_.empty() || !planned_.empty()) return false;
  // A record larger than the window is sent when nothing else is in flight.
  return window_.empty() || window_bytes_ + bytes <= limits_.window;
}

bool node_stream::idle() const {
  return window_.empty() && again_.empty() && planned_.empty() &&
         (!connection_ || connection_->done());
}

void node_stream::begin_spill(const replayed_spill& spill) {
  open_ = spill;
  plan({spill, record_type::begin_of_spill, 0, 0});
}

void node_stream::take_event(const replay_step& event) {
  if (open_ != event.of) begin_spill(event.of);
  ++taken_[event.of];
  ++report_.events;
  plan(event);
}

void node_stream::end_spill(const replayed_spill& spill) {
  const auto found = taken_.find(spill);
  const std::uint32_t events = found != taken_.end() ? found->second : 0;
  if (found != taken_.end()) taken_.erase(found);
  if (open_ == spill) open_.reset();
  plan({spill, record_type::end_of_spill, 0, events});
}

void node_stream::end_spills_but(const std::optional<replayed_spill>& spill) {
  std::vector<replayed_spill> over;
  for (const auto& [of, events] : taken_)
    if (of != spill) over.push_back(of);
  for (const auto& of : over) end_spill(of);
}

void node_stream::plan(const replay_step& s) {
  planned_.push_back(s);
  send_next();
}

/// Begins the next record if the previous one is done.
void node_stream::send_next() {
  if (!connection_ || !connection_->done()) return;
  if (!again_.empty()) {
    const auto r = again_.front();
    again_.pop_front();
    const auto record = maker_.make(r.what, r.sequence);
    connection_->begin(record.header, record.body);
    ++report_.resent;
    return;
  }
  if (planned_.empty()) return;
  const replay_step s = planned_.front();
  planned_.pop_front();
  ++sequence_;
  if (s.type == record_type::begin_of_spill) begin_sequence_ = sequence_;
  const auto record = maker_.make(s, sequence_);
  const auto bytes = maker_.bytes_of(s);
  connection_->begin(record.header, record.body);
  window_.push_back({sequence_, begin_sequence_, s, bytes});
  window_bytes_ += bytes;
}

void node_stream::greet() {
  const auto record = maker_.hello(++sequence_);
  connection_->begin(record.header, record.body);
}

bool node_stream::take_acknowledgements(elapsed now) {
  const auto safe = connection_->acknowledged();
  const auto known = connection_->known();
  if (safe > sequence_ || known > safe) {
    trouble_ =
        safe > sequence_
            ? fmt::format("it acknowledged record {}, but the last one sent is {}", safe, sequence_)
            : fmt::format("it already had {} events of {} records", known, safe);
    return false;
  }
  while (!window_.empty() && window_.front().sequence <= safe) {
    if (window_.front().what.type == record_type::event) ++report_.acknowledged;
    window_bytes_ -= window_.front().bytes;
    if (broken_ && window_.front().sequence >= broken_->recovered_at) broken_.reset();
    window_.pop_front();
    last_progress_ = now;
  }
  return true;
}

node_stream::state node_stream::move_on(elapsed now) {
  if (!connection_) {
    look_for_connection(now);
    return state::going_on;
  }
  const bool alive = connection_->move_on();
  if (!take_acknowledgements(now)) return state::wrong;
  if (!connection_->refusal().empty()) {
    trouble_ = connection_->refusal();
    if (!connection_->makes_sense()) return state::wrong;
    if (!connection_->turned_away()) return state::refused;
  }
  if (!alive) {
    close();
    note_break(now);
    connect_at_ = now + broken_->pause;
    return state::broken;
  }
  // An idle stream is no lack of progress: it keeps the pace.
  if (window_.empty() && connection_->done()) {
    last_progress_ = now;
    if (broken_) broken_->since = now;
  }
  send_next();
  return state::going_on;
}

void node_stream::look_for_connection(elapsed now) {
  if (connect_at_ && now >= *connect_at_) {
    broken_->pause = std::min(2 * broken_->pause, longest_pause);
    connect_in_background();
  }
  if (limits_.alone && connecting_.valid()) connecting_.wait();
  if (!connecting_.valid() || connecting_.wait_for(0s) != std::future_status::ready) return;
  try {
    connection_ = connecting_.get();
  } catch (const std::system_error& e) {
    trouble_ = e.what();
    connect_at_ = now + broken_->pause;
    return;
  }
  trouble_.clear();
  ++report_.reconnections;
  last_progress_ = now;
  greet();
  take_up_again();
}

void node_stream::take_up_again() {
  again_.clear();
  // The record that begins the spill is always repeated, because the daemon may be a new one.
  const auto begin_of = [&](const replayed_spill& spill, std::uint64_t sequence) {
    again_.push_back({sequence, sequence, {spill, record_type::begin_of_spill, 0, 0}, 0});
  };
  if (!window_.empty()) {
    const auto& first = window_.front();
    if (first.what.type != record_type::begin_of_spill)
      begin_of(first.what.of, first.begin_sequence);
    again_.insert(again_.end(), window_.begin(), window_.end());
  } else if (open_ && (planned_.empty() || planned_.front().type != record_type::begin_of_spill)) {
    begin_of(*open_, begin_sequence_);
  }
}

void node_stream::note_break(elapsed now) {
  if (broken_) return;
  std::uint64_t recovered_at = sequence_ + 1; // nothing is in flight: the next record
  std::size_t bytes = 0;
  for (const record_under_way& r : window_) {
    recovered_at = r.sequence;
    if ((bytes += r.bytes) >= most_to_recover) break;
  }
  broken_ = break_state{now, recovered_at, first_pause};
}

void node_stream::close() {
  report_.bytes += connection_->bytes_sent();
  report_.known += connection_->known();
  connection_.reset();
}

std::vector<replay_step> node_stream::give_up(elapsed now) {
  if (connection_) {
    close();
    note_break(now);
    connect_at_ = now + broken_->pause;
  }
  std::vector<replay_step> left;
  for (const auto& r : window_)
    if (r.what.type == record_type::event) left.push_back(r.what);
  for (const auto& s : planned_)
    if (s.type == record_type::event) left.push_back(s);
  window_.clear();
  window_bytes_ = 0;
  again_.clear();
  planned_.clear();
  open_.reset();
  taken_.clear();
  broken_->recovered_at = sequence_ + 1; // the next record that it takes
  report_.handed_on += left.size();
  return left;
}

std::vector<replay_step> node_stream::give_up_for_good(elapsed now) {
  auto left = give_up(now);
  connect_at_.reset();
  return left;
}

void node_stream::add_poll(std::vector<pollfd>& to) const {
  if (connection_) to.push_back(connection_->awaited());
}

node_report node_stream::report() const {
  auto r = report_;
  if (connection_) {
    r.bytes += connection_->bytes_sent();
    r.known += connection_->known();
  }
  r.there = there();
  r.trouble = trouble_;
  return r;
}

} // namespace l3
