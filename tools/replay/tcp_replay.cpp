// SPDX-License-Identifier: Apache-2.0
#include "tools/replay/tcp_replay.hpp"

#include <algorithm>
#include <stdexcept>
#include <system_error>

#include <fmt/format.h>

#include "transport/format/crc32c.hpp"
#include "transport/format/endian.hpp"

namespace l3 {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds longest_connecting = 3s;
constexpr std::chrono::milliseconds first_pause = 50ms; // before a new connection; doubles …
constexpr std::chrono::milliseconds longest_pause = 1s; // … up to this
constexpr std::chrono::nanoseconds longest_wait = 50ms;
/// Of what is under way when a connection breaks, so much must be acknowledged in the time limit.
constexpr std::size_t most_to_recover = 16U << 20;

} // namespace

tcp_replay::tcp_replay(const replay_source& source, const tcp_replay_settings& settings)
    : source_(source), settings_(settings), address_(resolve(settings.to)),
      changer_(source.crates()), schedule_(settings.rate, {}), connection_(connect()),
      next_(step{}) {
  report_.run = source.run();
  report_.to = settings.to.text();
  report_.paced = !schedule_.unlimited();
}

std::unique_ptr<record_connection> tcp_replay::connect() const {
  const auto limit = std::chrono::duration_cast<std::chrono::milliseconds>(settings_.time_limit);
  return std::make_unique<record_connection>(settings_.to, address_,
                                             std::min(limit, longest_connecting));
}

std::optional<tcp_replay::step> tcp_replay::after(const step& s) const {
  auto n = s;
  const auto events = source_.spills()[s.spill].events.size();
  switch (s.type) {
  case record_type::begin_of_spill:
    n.type = events > 0 ? record_type::event : record_type::end_of_spill;
    n.event = 0;
    return n;
  case record_type::event:
    if (++n.event == events) n.type = record_type::end_of_spill;
    return n;
  default: break;
  }
  n.type = record_type::begin_of_spill;
  if (++n.spill == source_.spills().size()) {
    n.spill = 0;
    ++n.loop;
  }
  return n.loop < settings_.loops ? std::optional(n) : std::nullopt;
}

std::size_t tcp_replay::bytes_of(const step& s) const {
  const auto body = [&] {
    switch (s.type) {
    case record_type::event: return source_.spills()[s.spill].events[s.event].body.size();
    case record_type::begin_of_spill: return sizeof(begin_of_spill_body);
    default: return sizeof(end_of_spill_body);
    }
  };
  return sizeof(record_header) + body();
}

tcp_replay::made_record tcp_replay::make(const step& s, std::uint64_t sequence) {
  const auto& spill = source_.spills()[s.spill];
  const auto number = source_.spill_number(spill, s.loop);
  const auto sealed = [&](std::span<const std::byte> body, std::uint32_t crc) {
    return made_record{
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
  default:
    return sealed_small(end_of_spill_body{static_cast<std::uint32_t>(spill.events.size()), 0,
                                          whole_nanoseconds(spill.cycle)});
  }
}

void tcp_replay::plan_next() {
  if (!next_) return;
  const auto& spill = source_.spills()[next_->spill];
  switch (next_->type) {
  case record_type::begin_of_spill:
    schedule_.begin_spill();
    break; // due when the last spill ended: next_slot_ says so already
  case record_type::event:
    next_slot_ = schedule_.next_event(spill, next_->event, bytes_of(*next_));
    break;
  default: next_slot_ = {schedule_.end_spill(spill, 0s), 0s}; break;
  }
}

void tcp_replay::send_hello() {
  small_body_ = hello_bytes(source_.run(), source_.crates());
  const auto bytes = static_cast<std::uint32_t>(small_body_.size());
  connection_->begin(sealed_header(record_type::hello, 0, ++sequence_, bytes, crc32c(small_body_)),
                     small_body_);
}

void tcp_replay::note_sent(const step& s) {
  const auto& spill = source_.spills()[s.spill];
  switch (s.type) {
  case record_type::begin_of_spill:
    report_.spills.push_back({source_.spill_number(spill, s.loop), 0, 0, spill.events.size()});
    spill_begun_ = pace_.elapsed();
    earlier_seconds_ = report_.sending_seconds;
    break;
  case record_type::event: {
    event_view view;
    if (!parse_event(spill.events[s.event].body, source_.crates(), view))
      report_.fragments += view.fragments.size();
    ++report_.events;
    ++report_.spills.back().admitted;
    if (!schedule_.unlimited()) pace_.note(next_slot_.due);
    report_.sending_seconds = earlier_seconds_ + in_seconds(pace_.elapsed() - spill_begun_);
    break;
  }
  default: break;
  }
}

/// Begins the next record, if one may go now.
bool tcp_replay::send_something() {
  if (!connection_->done()) return false;
  if (!again_.empty()) {
    const auto r = again_.front();
    again_.pop_front();
    const auto record = make(r.what, r.sequence);
    connection_->begin(record.header, record.body);
    ++report_.resent;
    return true;
  }
  if (!next_) return false;
  const auto bytes = bytes_of(*next_);
  // A record larger than the window goes when nothing else is under way.
  if (!window_.empty() && window_bytes_ + bytes > settings_.window) return false;
  if (!schedule_.unlimited() && pace_.until(next_slot_.due) > 0s) return false;
  ++sequence_;
  if (next_->type == record_type::begin_of_spill) begin_sequence_ = sequence_;
  const auto record = make(*next_, sequence_);
  connection_->begin(record.header, record.body);
  window_.push_back({sequence_, begin_sequence_, *next_, bytes});
  window_bytes_ += bytes;
  note_sent(*next_);
  next_ = after(*next_);
  plan_next();
  return true;
}

void tcp_replay::take_acknowledgements() {
  const auto safe = connection_->acknowledged();
  if (safe > sequence_)
    throw std::runtime_error(fmt::format("{}: acknowledged record {}, the last one sent is {}",
                                         settings_.to.text(), safe, sequence_));
  while (!window_.empty() && window_.front().sequence <= safe) {
    if (window_.front().what.type == record_type::event) ++report_.acknowledged;
    window_bytes_ -= window_.front().bytes;
    if (broken_ && window_.front().sequence >= broken_->recovered_at) broken_.reset();
    window_.pop_front();
    last_progress_ = pace_.elapsed();
  }
}

void tcp_replay::take_up_again() {
  again_.clear();
  send_hello();
  // The spill's beginning comes first, also if it was acknowledged: the daemon may be a new one.
  const auto begin_of = [&](const step& s, std::uint64_t sequence) {
    if (sequence == 0 || s.type == record_type::begin_of_spill) return;
    again_.push_back({sequence, sequence, {s.loop, s.spill, record_type::begin_of_spill, 0}, 0});
  };
  if (!window_.empty()) {
    begin_of(window_.front().what, window_.front().begin_sequence);
    again_.insert(again_.end(), window_.begin(), window_.end());
  } else if (next_) {
    begin_of(*next_, begin_sequence_);
  }
}

void tcp_replay::note_break() {
  if (broken_) return;
  std::uint64_t recovered_at = sequence_ + 1; // nothing is under way: the next record
  std::size_t bytes = 0;
  for (const under_way& r : window_) {
    recovered_at = r.sequence;
    if ((bytes += r.bytes) >= most_to_recover) break;
  }
  broken_ = trouble{pace_.elapsed(), recovered_at, first_pause};
}

bool tcp_replay::over(std::chrono::nanoseconds since) const {
  return pace_.elapsed() - since > settings_.time_limit;
}

bool tcp_replay::reconnect(const replay_watch& watch) {
  bytes_before_ += connection_->bytes_sent();
  report_.known += connection_->known();
  connection_.reset();
  ++report_.reconnections;
  note_break();
  while (!connection_) {
    const auto again_at = pace_.elapsed() + broken_->pause;
    broken_->pause = std::min(2 * broken_->pause, longest_pause);
    while (!watch.stop() && !pace_.wait_roughly(again_at)) {
    }
    if (watch.stop() || over(broken_->since)) return false;
    try {
      connection_ = connect();
    } catch (const std::system_error& e) {
      report_.trouble = e.what();
    }
  }
  report_.trouble.clear();
  last_progress_ = pace_.elapsed();
  take_up_again();
  return true;
}

std::chrono::nanoseconds tcp_replay::idle_time() const {
  const bool only_pace = next_ && connection_->done() && again_.empty() && !schedule_.unlimited();
  return only_pace ? std::min(longest_wait, pace_.until(next_slot_.due)) : longest_wait;
}

std::string tcp_replay::what_waits() const {
  return fmt::format("{} records are not acknowledged {:g} s after {}", window_.size(),
                     in_seconds(settings_.time_limit),
                     broken_ ? "the connection broke" : "the last acknowledgement");
}

bool tcp_replay::complete() const { return !next_ && window_.empty() && connection_->done(); }

replay_report tcp_replay::run(const replay_watch& watch) {
  pace_.start();
  send_hello();
  plan_next();
  while (!complete()) {
    if (watch.stop()) {
      report_.interrupted = true;
      break;
    }
    const bool alive = connection_->move_on();
    take_acknowledgements();
    if (!connection_->refusal().empty()) {
      report_.trouble = connection_->refusal();
      if (!connection_->turned_away()) break;
    }
    if (!alive) {
      if (complete()) break;
      if (reconnect(watch)) continue;
      report_.interrupted = watch.stop();
      if (report_.trouble.empty()) report_.trouble = what_waits();
      break;
    }
    watch.tell(report_.events);
    // Nothing under way is no lack of progress: then the pace is being kept.
    if (window_.empty() && connection_->done()) {
      last_progress_ = pace_.elapsed();
      if (broken_) broken_->since = last_progress_;
    }
    if (over(last_progress_) || (broken_ && over(broken_->since))) {
      report_.trouble = what_waits();
      break;
    }
    if (!send_something()) connection_->wait(idle_time());
  }
  report_.finished = !next_ && window_.empty() && !report_.interrupted;
  report_.bytes = bytes_before_ + (connection_ ? connection_->bytes_sent() : 0);
  report_.known += connection_ ? connection_->known() : 0;
  report_.seconds = in_seconds(pace_.elapsed());
  report_.set_delays(pace_);
  return report_;
}

} // namespace l3
