// SPDX-License-Identifier: Apache-2.0
// What a snapshot does not know by itself: when the state changed, how old the latest event is, how
// long the disk will do. For the thread that folds the counters.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "daemon/monitor/snapshot.hpp"
#include "monitor/recent_rate.hpp"
#include "transport/format/time.hpp"

namespace l3 {

class recent_history {
public:
  static constexpr std::size_t most_changes = 20;

  /// `seconds_since_1970`: the time of day.
  void fill(metrics_snapshot& s, time_point now, double seconds_since_1970) {
    if (const std::string text = s.state.text(); text != state_) {
      state_ = text;
      changes_.push_back({seconds_since_1970, text});
      if (changes_.size() > most_changes) changes_.pop_front();
    }
    if (s.account.sessions != sessions_) { // another run, or none: it counts from 0
      sessions_ = s.account.sessions;
      events_ = 0;
    }
    if (const std::uint64_t events = s.account.events.admitted; events > events_) {
      events_ = events;
      event_at_ = now;
    }
    s.changes.assign(changes_.begin(), changes_.end());
    if (event_at_) s.event_age = in_seconds(now - *event_at_);
    if (s.spool) s.spool->seconds_left = time_until_full(s.spool->room, now);
  }

private:
  /// s; nothing: the room does not shrink
  std::optional<double> time_until_full(std::uint64_t room, time_point now) {
    most_room_ = std::max(most_room_, room);
    filling_.note(most_room_ - room, now);
    const double rate = filling_.per_second();
    if (rate <= 0) return std::nullopt;
    return static_cast<double>(room) / rate;
  }

  std::string state_;
  std::deque<state_change> changes_;
  decltype(ledger::sessions) sessions_; ///< of the run
  std::uint64_t events_ = 0;            ///< of the run
  std::optional<time_point> event_at_;  ///< when the fold first saw the latest one
  std::uint64_t most_room_ = 0;         ///< in the spool, so far
  recent_rate filling_{std::chrono::minutes(1)};
};

} // namespace l3
