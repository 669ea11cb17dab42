// SPDX-License-Identifier: Apache-2.0
// Adds to a snapshot what needs its history: earlier figures, how old the latest event is, the
// outcomes of this spill's events, and when memory and disk will be full. For the thread that reads
// the counters.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

#include "daemon/monitor/snapshot.hpp"
#include "monitor/recent_rate.hpp"
#include "transport/format/time.hpp"

namespace l3 {

class recent_history {
public:
  /// How old `lately` is. An event without all fragments is given up within this time.
  static constexpr auto lately = std::chrono::seconds(4);

  void fill(metrics_snapshot& s, time_point now) {
    if (s.account.sessions != sessions_) { // another run or none: counts start from 0
      sessions_ = s.account.sessions;
      events_ = spills_ = datagrams_ = 0;
      spill_ = {};
      spill_at_.reset();
      at_admission_ = {};
      past_.clear();
    }
    const auto note = [&](std::uint64_t count, std::uint64_t& known, auto& at) {
      const bool more = count > known;
      if (more) at = now;
      known = count;
      return more;
    };
    const std::uint64_t datagrams = s.account.datagrams.received + s.run.datagrams_without_run;
    if (note(s.account.events.admitted, events_, event_at_)) at_admission_ = s.account;
    note(datagrams, datagrams_, data_at_);
    note(s.ended_spills.spills, spills_, spill_at_);
    const auto age = [&](const std::optional<time_point>& at) {
      return at ? std::optional(in_seconds(now - *at)) : std::nullopt;
    };
    s.event_age = age(event_at_);
    s.data_age = age(data_at_);
    s.spill_age = age(spill_at_);
    s.this_spill = spill_.look(s);
    s.at_admission = at_admission_;
    while (past_.size() > 1 && past_[1].first + lately <= now) past_.pop_front();
    if (!past_.empty()) s.lately = past_.front().second;
    past_.emplace_back(now, s.account);
    if (s.spool) s.spool->seconds_left = disk_.time_left(s.spool->room, now);
    s.outbox_seconds_left =
        memory_.time_left(s.outbox_capacity - std::min(s.outbox_bytes, s.outbox_capacity), now);
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

  class shrinking_room {
  public:
    explicit shrinking_room(std::chrono::nanoseconds window) : filling_(window) {}

    /// in s; nothing if the room does not shrink
    std::optional<double> time_left(std::uint64_t room, time_point now) {
      most_ = std::max(most_, room);
      filling_.note(most_ - room, now);
      const double rate = filling_.per_second();
      if (rate <= 0) return std::nullopt;
      return static_cast<double>(room) / rate;
    }

  private:
    std::uint64_t most_ = 0; ///< the most free room so far
    recent_rate filling_;
  };

  decltype(ledger::sessions) sessions_; ///< of the run
  std::uint64_t events_ = 0;            ///< of the run, like the following
  std::uint64_t spills_ = 0;
  std::uint64_t datagrams_ = 0;
  spill_under_way spill_;
  std::optional<time_point> event_at_; ///< when the latest one was first seen
  std::optional<time_point> data_at_;
  std::optional<time_point> spill_at_;
  ledger at_admission_;
  std::deque<std::pair<time_point, ledger>> past_;
  shrinking_room disk_{std::chrono::minutes(1)};
  shrinking_room memory_{std::chrono::seconds(10)};
};

} // namespace l3
