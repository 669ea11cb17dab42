// SPDX-License-Identifier: Apache-2.0
#include "tools/replay/tcp_replay.hpp"

#include <algorithm>
#include <exception>
#include <system_error>

#include <fmt/format.h>
#include <poll.h>

namespace l3 {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::nanoseconds longest_wait = 50ms;
constexpr std::chrono::nanoseconds wait_to_connect = 5ms; // without a file descriptor to wait for

} // namespace

tcp_replay::tcp_replay(const replay_source& source, const tcp_replay_settings& settings)
    : source_(source), settings_(settings), sizes_(source), schedule_(settings.rate, {}),
      next_(replay_step{}) {
  for (const destination& to : settings_.to)
    nodes_.push_back({node_stream(source, to,
                                  node_stream::limits{settings_.window, settings_.time_limit,
                                                      settings_.to.size() == 1}),
                      settings_.time_limit / silences_in_time_limit});
  std::exception_ptr failure;
  for (node& n : nodes_) {
    try {
      n.stream.wait_for_connection();
    } catch (const std::system_error&) {
      if (!failure) failure = std::current_exception();
    }
  }
  if (!any_there()) std::rethrow_exception(failure);
  report_.run = source.run();
  report_.to = text_of(settings_.to);
  report_.paced = !schedule_.unlimited();
}

std::optional<replay_step> tcp_replay::after(const replay_step& s) const {
  auto n = s;
  const auto events = source_.spills()[s.of.spill].events.size();
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
  if (++n.of.spill == source_.spills().size()) {
    n.of.spill = 0;
    ++n.of.loop;
  }
  return n.of.loop < settings_.loops ? std::optional(n) : std::nullopt;
}

void tcp_replay::plan_next() {
  if (!next_) return;
  const auto& spill = source_.spills()[next_->of.spill];
  switch (next_->type) {
  case record_type::begin_of_spill: next_slot_ = {schedule_.begin_spill(), 0s}; break;
  case record_type::event:
    next_slot_ = schedule_.next_event(spill, next_->event, sizes_.bytes_of(*next_));
    break;
  default: next_slot_ = {schedule_.end_spill(spill, 0s), 0s}; break;
  }
}

std::optional<replayed_spill> tcp_replay::open_spill() const {
  if (!next_ || next_->type == record_type::begin_of_spill) return std::nullopt;
  return next_->of;
}

bool tcp_replay::any_there() const {
  return std::ranges::any_of(nodes_, [](const node& n) { return n.stream.there(); });
}

bool tcp_replay::another_there(const node& than) const {
  return std::ranges::any_of(nodes_,
                             [&](const node& n) { return &n != &than && n.stream.there(); });
}

bool tcp_replay::complete() const {
  return !next_ && handed_on_.empty() && !late_spills_ &&
         std::ranges::all_of(nodes_, [](const node& n) { return n.stream.idle(); });
}

node_stream* tcp_replay::taker(const replay_step& event) {
  const auto bytes = sizes_.bytes_of(event);
  const bool by_spill = settings_.share == replay_share::by_spill;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const std::size_t at = (turn_ + i) % nodes_.size();
    node_stream& stream = nodes_[at].stream;
    if (!stream.there()) continue;
    if (!stream.can_take(bytes)) {
      if (by_spill) return nullptr; // each spill has its own daemon
      continue;
    }
    turn_ = by_spill ? at : at + 1;
    return &stream;
  }
  return nullptr;
}

void tcp_replay::note_event(const replay_step& s) {
  event_view view;
  if (!parse_event(source_.spills()[s.of.spill].events[s.event].body, source_.crates(), view))
    report_.fragments += view.fragments.size();
  ++report_.events;
  ++report_.spills.back().admitted;
  if (!schedule_.unlimited()) pace_.note(next_slot_.due);
  report_.sending_seconds = earlier_seconds_ + in_seconds(pace_.elapsed() - spill_begun_);
}

/// Sends the next record of the file, if one may be sent now.
bool tcp_replay::send_next() {
  if (!next_ || (!schedule_.unlimited() && pace_.until(next_slot_.due) > 0s)) return false;
  const replay_step s = *next_;
  if (s.type == record_type::event) {
    node_stream* const to = taker(s);
    if (to == nullptr) return false;
    to->take_event(s);
    note_event(s);
  } else {
    const auto bytes = sizes_.bytes_of(s);
    const auto takes = [&](const node& n) { return n.stream.can_take(bytes); };
    if (std::ranges::none_of(nodes_, takes)) return false;
    const bool begins = s.type == record_type::begin_of_spill;
    for (node& n : nodes_) {
      if (!n.stream.there()) continue;
      begins ? n.stream.begin_spill(s.of) : n.stream.end_spill(s.of);
    }
    if (begins) {
      const auto& spill = source_.spills()[s.of.spill];
      report_.spills.push_back({source_.spill_number(spill, s.of.loop), 0, 0, spill.events.size()});
      spill_begun_ = pace_.elapsed();
      earlier_seconds_ = report_.sending_seconds;
    } else if (settings_.share == replay_share::by_spill) {
      ++turn_;
    }
  }
  next_ = after(s);
  plan_next();
  return true;
}

bool tcp_replay::send_something() {
  if (!handed_on_.empty()) {
    const replay_step s = handed_on_.front();
    node_stream* const to = taker(s);
    if (to == nullptr) return false;
    handed_on_.pop_front();
    to->take_event(s);
    if (s.of != open_spill()) late_spills_ = true;
    return true;
  }
  if (late_spills_) {
    for (node& n : nodes_) n.stream.end_spills_but(open_spill());
    late_spills_ = false;
  }
  return send_next();
}

void tcp_replay::hand_on(const std::vector<replay_step>& left) {
  handed_on_.insert(handed_on_.end(), left.begin(), left.end());
}

bool tcp_replay::go_on_without(node& wrong) {
  const auto is_left = [&](const node& n) { return &n != &wrong && !n.given_up; };
  if (std::ranges::none_of(nodes_, is_left)) return false;
  wrong.given_up = true;
  hand_on(wrong.stream.give_up_for_good(pace_.elapsed()));
  return true;
}

/// An unreachable machine does not close its connections.
void tcp_replay::hand_on_of_the_silent() {
  for (node& n : nodes_) {
    const bool owes = n.stream.there() && n.stream.waits();
    if (!owes || pace_.elapsed() - n.stream.last_progress() <= n.patience) continue;
    if (!another_there(n)) continue;
    n.patience *= 2;
    hand_on(n.stream.give_up(pace_.elapsed()));
  }
}

bool tcp_replay::move_on() {
  for (node& n : nodes_) {
    const auto state = n.stream.move_on(pace_.elapsed());
    const bool wrong = state == node_stream::state::wrong;
    if (state == node_stream::state::refused || (wrong && !go_on_without(n))) {
      report_.trouble =
          alone() ? n.stream.trouble() : n.stream.to().text() + ": " + n.stream.trouble();
      return false;
    }
    if (state == node_stream::state::broken && !alone()) hand_on(n.stream.give_up(pace_.elapsed()));
  }
  if (!alone()) hand_on_of_the_silent();
  return has_time_left();
}

bool tcp_replay::has_time_left() {
  const auto over = [&](std::chrono::nanoseconds since) {
    return pace_.elapsed() - since > settings_.time_limit;
  };
  const node_stream& only = nodes_.front().stream;
  if (alone()) {
    const auto broken = only.broken_since();
    if (!(broken && over(*broken)) && !(only.there() && over(only.last_progress()))) return true;
    report_.trouble = !only.there() && !only.trouble().empty() ? only.trouble() : what_waits();
    return complete();
  }
  std::uint64_t acknowledged = 0;
  for (const node& n : nodes_) acknowledged += n.stream.acknowledged();
  const bool owes = !handed_on_.empty() ||
                    std::ranges::any_of(nodes_, [](const node& n) { return !n.stream.idle(); });
  if (acknowledged != acknowledged_ || (!owes && any_there())) progress_ = pace_.elapsed();
  acknowledged_ = acknowledged;
  if (!over(progress_)) return true;
  report_.trouble = any_there() ? what_waits() : only.trouble();
  return complete();
}

std::string tcp_replay::what_waits() const {
  std::size_t records = handed_on_.size();
  for (const node& n : nodes_) records += n.stream.under_way();
  const bool broken = alone() && nodes_.front().stream.broken_since();
  return fmt::format("{} records are not acknowledged {:g} s after {}", records,
                     in_seconds(settings_.time_limit),
                     broken ? "the connection broke" : "the last acknowledgement");
}

/// Waits until a connection is ready, or the next event is due.
void tcp_replay::wait() {
  std::vector<pollfd> awaited;
  awaited.reserve(nodes_.size());
  for (const node& n : nodes_) n.stream.add_poll(awaited);
  const bool only_pace = next_ && handed_on_.empty() && !schedule_.unlimited() && any_there();
  auto time = only_pace ? std::min(longest_wait, pace_.until(next_slot_.due)) : longest_wait;
  if (time == 0s) time = longest_wait; // it is due, but no daemon takes it
  if (awaited.size() < nodes_.size()) time = std::min(time, wait_to_connect);
  const timespec limit{0, static_cast<long>(time.count())};
  ::ppoll(awaited.data(), awaited.size(), &limit, nullptr);
}

replay_report tcp_replay::run(const replay_watch& watch) {
  pace_.start();
  plan_next();
  while (!complete()) {
    if (watch.stop()) {
      report_.interrupted = true;
      break;
    }
    if (!move_on()) break;
    watch.tell(report_.events);
    if (!send_something()) wait();
  }
  report_.finished = complete() && !report_.interrupted;
  for (const node& n : nodes_) report_.add(n.stream.report());
  report_.seconds = in_seconds(pace_.elapsed());
  report_.set_delays(pace_);
  return report_;
}

} // namespace l3
