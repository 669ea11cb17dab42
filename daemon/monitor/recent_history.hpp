// SPDX-License-Identifier: Apache-2.0
// Adds to a snapshot what needs its history: when the state changed, how old the latest event is,
// the outcomes of this spill's events, and when the disk will be full. For the thread that reads
// the counters.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>

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
    if (s.account.sessions != sessions_) { // another run or none: counts start from 0
      sessions_ = s.account.sessions;
      events_ = 0;
      spill_ = {};
    }
    if (const std::uint64_t events = s.account.events.admitted; events > events_) {
      events_ = events;
      event_at_ = now;
    }
    s.this_spill = spill_.look(s);
    s.changes.assign(changes_.begin(), changes_.end());
    if (event_at_) s.event_age = in_seconds(now - *event_at_);
    if (s.spool) s.spool->seconds_left = time_until_full(s.spool->room, now);
  }

private:
  /// Received events are known by spill, but their outcomes are not. The outcome is what the run
  /// has counted since the look before the spill began, limited to the events received.
  class spill_under_way {
  public:
    spill_counts look(const metrics_snapshot& s) {
      const event_account& e = s.account.events;
      const earlier_spills_account& ended = s.ended_spills;
      const std::uint64_t admitted = less(e.admitted, ended.admitted);
      const std::uint64_t incomplete = less(s.building.events_incomplete, ended.incomplete);
      const bool goes_on = admitted + incomplete != 0 || s.latest_spills.empty();
      const outcome now{e.forwarded, e.rejected, sum_of(e.shed)};
      const std::uint64_t nth = ended.spills + (goes_on ? 1 : 0);
      if (nth > nth_) {
        before_that_ = std::exchange(before_, seen_);
      } else if (nth < nth_) { // an event came before the sum of its spill, and began no new one
        before_ = before_that_;
      }
      nth_ = nth;
      seen_ = now;
      spill_counts is{admitted, incomplete, 0, 0, 0, !goes_on};
      if (!goes_on) {
        is.admitted = s.latest_spills.back().admitted;
        is.incomplete = s.latest_spills.back().incomplete;
      }
      std::uint64_t left = is.admitted;
      const auto take = [&](std::uint64_t n) {
        n = std::min(n, left);
        left -= n;
        return n;
      };
      is.rejected = take(less(now.rejected, before_.rejected));
      is.shed = take(less(now.shed, before_.shed));
      is.stored = take(less(now.stored, before_.stored));
      return is;
    }

  private:
    struct outcome {
      std::uint64_t stored = 0;
      std::uint64_t rejected = 0;
      std::uint64_t shed = 0;
    };
    [[nodiscard]] static std::uint64_t less(std::uint64_t from, std::uint64_t what) {
      return from - std::min(from, what);
    }

    outcome before_;        ///< when the spill began
    outcome before_that_;   ///< when the previous spill began
    outcome seen_;          ///< at the last look
    std::uint64_t nth_ = 0; ///< number of the spill within the run
  };

  /// in s; nothing if the room does not shrink
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
  spill_under_way spill_;
  std::optional<time_point> event_at_; ///< when the latest one was first seen
  std::uint64_t most_room_ = 0;        ///< the most free room of the spool so far
  recent_rate filling_{std::chrono::minutes(1)};
};

} // namespace l3
