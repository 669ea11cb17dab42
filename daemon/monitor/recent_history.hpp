// SPDX-License-Identifier: Apache-2.0
// What a snapshot does not know by itself: when the state changed, how old the latest event is,
// what became of the events of this spill, how long the disk will do. For the thread that folds the
// counters.
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
  /// The counts of a run, those of its spills before taken off.
  class spill_under_way {
  public:
    spill_counts look(const metrics_snapshot& s) {
      const event_account& e = s.account.events;
      const spill_counts now{
          e.admitted, s.building.events_incomplete, e.forwarded, e.rejected, sum_of(e.shed), false};
      const auto last =
          s.latest_spills.empty() ? std::nullopt : std::optional(s.latest_spills.back().spill);
      const bool grows = now.admitted + now.incomplete > seen_.admitted + seen_.incomplete;
      if (last != last_) {
        last_ = last;
        ended_ = true;
      } else if (ended_ && grows) { // with an event of the next spill
        before_ = seen_;
        ended_ = false;
      }
      seen_ = now;
      return {now.admitted - before_.admitted, now.incomplete - before_.incomplete,
              now.stored - before_.stored,     now.rejected - before_.rejected,
              now.shed - before_.shed,         ended_};
    }

  private:
    spill_counts before_;               ///< when the spill began
    spill_counts seen_;                 ///< by the last look
    std::optional<std::uint32_t> last_; ///< spill that has ended
    bool ended_ = false;
  };

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
  spill_under_way spill_;
  std::optional<time_point> event_at_; ///< when the fold first saw the latest one
  std::uint64_t most_room_ = 0;        ///< in the spool, so far
  recent_rate filling_{std::chrono::minutes(1)};
};

} // namespace l3
