// SPDX-License-Identifier: Apache-2.0
// Adds to a snapshot what needs its history: earlier figures, how old the latest event is, the
// outcomes of the events of each spill, the rates and their chart, and when memory and disk will be
// full. For the thread that reads the counters.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/monitor/snapshot.hpp"
#include "monitor/recent_rate.hpp"
#include "transport/format/time.hpp"

namespace l3 {

class recent_history {
public:
  /// How old `lately` is. An event without all fragments is given up within this time.
  static constexpr auto lately = std::chrono::seconds(4);
  static constexpr auto step = std::chrono::seconds(5); ///< between points of the chart
  static constexpr std::size_t most_points = 120;       ///< ten minutes

  void fill(metrics_snapshot& s, time_point now) {
    if (s.account.sessions != sessions_) { // another run or none: counts start from 0
      sessions_ = s.account.sessions;
      events_ = spills_ = datagrams_ = 0;
      spill_ = {};
      spill_at_.reset();
      at_admission_ = {};
      past_.clear();
      rates_ = {};
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
    s.rates = rates_.look(counts_in(s), spill_.nth(), now);
    if (!point_at_ || *point_at_ + step <= now) {
      point_at_ = now;
      const auto rate = [&](std::string_view of) {
        return std::ranges::find(s.rates, of, [](const auto& r) { return r.first; })->second;
      };
      points_.push_back({rate("admitted"), rate("kept"), rate("stored")});
      if (points_.size() > most_points) points_.pop_front();
    }
    s.history.assign(points_.begin(), points_.end());
    if (s.spool) s.spool->seconds_left = disk_.time_left(s.spool->room, now);
    s.outbox_seconds_left =
        memory_.time_left(s.outbox_capacity - std::min(s.outbox_bytes, s.outbox_capacity), now);
  }

private:
  /// Received events are known by spill, but their outcomes are not. The outcome is what the run
  /// has counted since the look before the spill began, limited to the events received.
  class spill_under_way {
  public:
    /// Also fills in the outcomes of the latest spills.
    spill_counts look(metrics_snapshot& s) {
      const event_account& e = s.account.events;
      const earlier_spills_account& ended = s.ended_spills;
      const std::uint64_t admitted = less(e.admitted, ended.admitted);
      const std::uint64_t incomplete = less(s.building.events_incomplete, ended.incomplete);
      const bool goes_on = admitted + incomplete != 0 || s.latest_spills.empty();
      const outcome now{e.forwarded, e.rejected, sum_of(e.shed)};
      const std::uint64_t nth = ended.spills + (goes_on ? 1 : 0);
      if (nth > nth_) {
        before_that_ = std::exchange(before_, seen_);
        if (nth_ != 0) past_.emplace_back(is_);
        past_.resize(past_.size() + (nth - nth_) - 1); // spills that no look has seen
        if (past_.size() > s.most_spills)
          past_.erase(past_.begin(), past_.end() - static_cast<std::ptrdiff_t>(s.most_spills));
      } else if (nth < nth_) { // an event came before the sum of its spill, and began no new one
        before_ = before_that_;
        if (!past_.empty()) past_.pop_back();
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
      is_ = is;
      s.spill_outcomes = past_;
      if (!goes_on) s.spill_outcomes.emplace_back(is);
      return is;
    }

    [[nodiscard]] std::uint64_t nth() const { return nth_; }

  private:
    struct outcome {
      std::uint64_t stored = 0;
      std::uint64_t rejected = 0;
      std::uint64_t shed = 0;
    };
    [[nodiscard]] static std::uint64_t less(std::uint64_t from, std::uint64_t what) {
      return from - std::min(from, what);
    }

    outcome before_;                                ///< when the spill began
    outcome before_that_;                           ///< when the previous spill began
    outcome seen_;                                  ///< at the last look
    std::uint64_t nth_ = 0;                         ///< number of the spill within the run
    spill_counts is_;                               ///< at the last look
    std::vector<std::optional<spill_counts>> past_; ///< earlier spills
  };

  using flow_counts = std::vector<std::pair<std::string_view, std::uint64_t>>;

  /// The counts whose rates the page shows.
  static flow_counts counts_in(const metrics_snapshot& s) {
    const datagram_account& d = s.account.datagrams;
    const event_account& e = s.account.events;
    std::uint64_t at_selection = 0;
    for (const auto& [reason, events] : e.shed)
      if (reason == name_of(shed::no_frame) || reason == name_of(shed::engine))
        at_selection += events;
    return {{"datagrams", d.received},
            {"kernel_drops", d.kernel_drops},
            {"refused", sum_of(d.malformed)},
            {"without_run", s.run.datagrams_without_run},
            {"bytes_in", s.account.bytes.in},
            {"admitted", e.admitted},
            {"kept", s.outcomes.packed_events.sum()},
            {"stored", e.forwarded},
            {"shed_at_selection", at_selection},
            {"shed_at_output", sum_of(e.shed) - at_selection},
            {"bytes_computed", s.outcomes.computed_bytes},
            {"bytes_packed", s.outcomes.packed_bytes.sum()},
            {"bytes_sent", s.forward.bytes}};
  }

  /// Rates over the last whole cycles of spills, because any other window would show the beam's
  /// pauses. If no spill has begun, over the same time.
  class cycle_rates {
  public:
    decltype(metrics_snapshot::rates) look(const flow_counts& counts, std::uint64_t nth_spill,
                                           time_point now) {
      const auto drop_old = [&](std::deque<one_look>& of) {
        while (of.size() > 1 && of.front().at + window < now) of.pop_front();
      };
      if (nth_spill > nth_ && !looks_.empty()) begins_.push_back(looks_.back());
      nth_ = std::max(nth_, nth_spill); // it may go back by one, see spill_under_way
      looks_.push_back({now, counts});
      drop_old(looks_);
      drop_old(begins_);
      const auto& from = begins_.size() > 1 ? begins_ : looks_;
      const double time = in_seconds(from.back().at - from.front().at);
      decltype(metrics_snapshot::rates) r;
      for (std::size_t f = 0; f < counts.size(); ++f) {
        const std::uint64_t n = from.back().counts[f].second - from.front().counts[f].second;
        r.emplace_back(counts[f].first, time > 0 ? static_cast<double>(n) / time : 0);
      }
      return r;
    }

  private:
    static constexpr auto window = std::chrono::seconds(15);
    struct one_look {
      time_point at;
      flow_counts counts;
    };

    std::deque<one_look> looks_;
    std::deque<one_look> begins_; ///< each the last look before a spill began
    std::uint64_t nth_ = 0;
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
  cycle_rates rates_;
  std::deque<std::array<double, 3>> points_;
  std::optional<time_point> point_at_;
  std::optional<time_point> event_at_; ///< when the latest one was first seen
  std::optional<time_point> data_at_;
  std::optional<time_point> spill_at_;
  ledger at_admission_;
  std::deque<std::pair<time_point, ledger>> past_;
  shrinking_room disk_{std::chrono::minutes(1)};
  shrinking_room memory_{std::chrono::seconds(10)};
};

} // namespace l3
