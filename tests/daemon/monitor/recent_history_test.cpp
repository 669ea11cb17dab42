// SPDX-License-Identifier: Apache-2.0
#include "daemon/monitor/recent_history.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include <map>

namespace l3 {
namespace {

using namespace std::chrono_literals;

metrics_snapshot filled(recent_history& h, const metrics_snapshot& s, time_point now) {
  metrics_snapshot copy = s;
  h.fill(copy, now);
  return copy;
}

TEST(recent_history, keeps_the_account_of_some_seconds_ago_and_of_the_latest_admission) {
  recent_history history;
  metrics_snapshot s;
  s.account.sessions = {1};
  for (int look = 0; look <= 20; ++look) {
    s.account.datagrams.received = static_cast<std::uint64_t>(look);
    if (look < 12) s.account.events.admitted = s.account.datagrams.received;
    const metrics_snapshot is = filled(history, s, time_point(look * 500ms));
    EXPECT_EQ(is.lately.datagrams.received, static_cast<std::uint64_t>(std::max(look - 8, 0)));
    EXPECT_EQ(is.at_admission.datagrams.received, static_cast<std::uint64_t>(std::min(look, 11)));
  }
  s.account.sessions = {2};
  EXPECT_EQ(filled(history, s, time_point(11s)).lately, ledger()) << "counts begin at 0";
}

TEST(recent_history, knows_when_data_came_and_when_a_spill_ended) {
  recent_history history;
  metrics_snapshot s;
  EXPECT_FALSE(filled(history, s, {}).data_age);
  s.account.datagrams.received = 7;
  s.ended_spills.spills = 1;
  EXPECT_EQ(filled(history, s, time_point(1s)).data_age, 0);
  const metrics_snapshot later = filled(history, s, time_point(3s));
  EXPECT_EQ(later.data_age, 2);
  EXPECT_EQ(later.spill_age, 2);
}

TEST(recent_history, knows_how_old_the_latest_event_is_and_takes_no_change_of_run_for_one) {
  recent_history history;
  metrics_snapshot s;
  const time_point start{};
  EXPECT_FALSE(filled(history, s, start).event_age) << "there was none";
  s.account.sessions = {1};
  s.account.events.admitted = 5;
  EXPECT_EQ(filled(history, s, start + 1s).event_age, 0);
  EXPECT_EQ(filled(history, s, start + 4s).event_age, 3);
  EXPECT_EQ(filled(history, metrics_snapshot{}, start + 5s).event_age, 4) << "the run has ended";
  s.account.sessions = {2};
  s.account.events.admitted = 0;
  EXPECT_EQ(filled(history, s, start + 6s).event_age, 5);
  s.account.events.admitted = 3;
  EXPECT_EQ(filled(history, s, start + 7s).event_age, 0) << "fewer than in the run before";
}

TEST(recent_history, counts_the_events_of_a_spill_from_its_first_to_the_next_ones) {
  recent_history history;
  metrics_snapshot s;
  event_account& e = s.account.events;
  const auto look = [&] { return filled(history, s, {}).this_spill; };
  e.admitted = 10;
  e.forwarded = 2;
  e.rejected = 5;
  e.shed["drain"] = 1;
  s.building.events_incomplete = 4;
  EXPECT_EQ(look().admitted, 10U);
  EXPECT_EQ(look().incomplete, 4U);
  EXPECT_EQ(look().shed, 1U);
  EXPECT_FALSE(look().ended);
  s.latest_spills = {{7, 12, 4, {}}};
  s.ended_spills = {1, 12, 4};
  e.admitted = 12; // in the fold that brings the end
  EXPECT_TRUE(look().ended);
  e.forwarded = 6; // what was under way
  EXPECT_EQ(look().stored, 6U) << "the beam pauses: the spill is shown as a whole";
  e.admitted = 15;
  e.rejected = 7;
  e.shed["drain"] = 2;
  s.building.events_incomplete = 5;
  const spill_counts next = look();
  EXPECT_FALSE(next.ended);
  EXPECT_EQ(next.admitted, 3U);
  EXPECT_EQ(next.rejected, 2U);
  EXPECT_EQ(next.stored, 0U);
  EXPECT_EQ(next.incomplete, 1U);
  EXPECT_EQ(next.shed, 1U);
  s.account.sessions = {2}; // another run
  s.latest_spills.clear();
  s.ended_spills = {};
  e = {};
  e.admitted = 1;
  EXPECT_EQ(look().admitted, 1U);
}

TEST(recent_history, tells_spills_apart_that_end_between_two_looks) {
  recent_history history;
  metrics_snapshot s;
  event_account& e = s.account.events;
  const auto look = [&] { return filled(history, s, {}).this_spill; };
  e.admitted = 12; // of two spills, of which the first has ended
  e.forwarded = 11;
  s.building.events_incomplete = 2;
  s.latest_spills = {{7, 10, 1, {}}};
  s.ended_spills = {1, 10, 1};
  const spill_counts second = look();
  EXPECT_FALSE(second.ended);
  EXPECT_EQ(second.admitted, 2U);
  EXPECT_EQ(second.incomplete, 1U);
  EXPECT_LE(second.stored, 2U);
  e.admitted = 40; // the second has ended, and two more
  e.forwarded = 30;
  e.rejected = 10;
  s.latest_spills = {{7, 10, 1, {}}, {8, 10, 1, {}}, {9, 11, 0, {}}, {10, 9, 0, {}}};
  s.ended_spills = {4, 40, 2};
  const spill_counts fourth = look();
  EXPECT_TRUE(fourth.ended);
  EXPECT_EQ(fourth.admitted, 9U);
  EXPECT_EQ(fourth.incomplete, 0U);
  EXPECT_EQ(fourth.stored + fourth.rejected + fourth.shed, 9U);
  EXPECT_EQ(look().admitted, 9U) << "until the next one begins";
}

TEST(recent_history, takes_the_last_event_of_a_spill_back_from_the_next_one) {
  recent_history history;
  metrics_snapshot s;
  event_account& e = s.account.events;
  const auto look = [&] { return filled(history, s, {}).this_spill; };
  e.admitted = e.forwarded = 9;
  s.latest_spills = {{7, 9, 0, 10}};
  s.ended_spills = {1, 9, 0};
  EXPECT_EQ(look().stored, 9U);
  e.admitted = e.forwarded = 10; // the spill says so a moment later
  EXPECT_FALSE(look().ended);
  s.latest_spills = {{7, 10, 0, 10}};
  s.ended_spills = {1, 10, 0};
  EXPECT_TRUE(look().ended);
  EXPECT_EQ(look().admitted, 10U);
  EXPECT_EQ(look().stored, 10U);
}

TEST(recent_history, keeps_the_outcomes_of_ended_spills_that_it_has_seen) {
  recent_history history;
  metrics_snapshot s;
  event_account& e = s.account.events;
  const auto stored = [&] {
    std::vector<int> of_spills;
    for (const auto& o : filled(history, s, {}).spill_outcomes)
      of_spills.push_back(o ? static_cast<int>(o->stored) : -1);
    return of_spills;
  };
  e.admitted = 10;
  e.forwarded = 3;
  EXPECT_TRUE(stored().empty()) << "none has ended";
  s.latest_spills = {{7, 10, 0, {}}};
  s.ended_spills = {1, 10, 0};
  e.forwarded = 4; // what was under way
  EXPECT_EQ(stored(), std::vector{4});
  e.admitted = 25;
  e.forwarded = 6;
  EXPECT_EQ(stored(), std::vector{4}) << "the next one has begun";
  e.admitted = 60; // three have ended since
  e.forwarded = 9;
  s.latest_spills = {{7, 10, 0, {}}, {8, 20, 0, {}}, {9, 20, 0, {}}, {10, 10, 0, {}}};
  s.ended_spills = {4, 60, 0};
  EXPECT_EQ(stored(), (std::vector{4, 2, -1, 3}));
}

TEST(recent_history, rates_are_those_of_a_whole_cycle_also_while_the_beam_pauses) {
  recent_history history;
  metrics_snapshot s;
  std::size_t points = 0;
  time_point now{};
  const auto look = [&] {
    const metrics_snapshot is = filled(history, s, now += 500ms);
    points = is.history.size();
    return std::map(is.rates.begin(), is.rates.end())["admitted"];
  };
  look();
  for (std::uint32_t spill = 1; spill <= 4; ++spill) {
    for (int part = 0; part < 10; ++part) { // two seconds of beam, three without
      if (part < 4) s.account.events.admitted += 100;
      if (part == 4) {
        s.latest_spills.push_back({spill, 400, 0, {}});
        s.ended_spills = {spill, 400 * spill, 0};
      }
      const double rate = look();
      if (spill > 2) { // a cycle of which both begins were seen
        EXPECT_DOUBLE_EQ(rate, 400 / 5.0) << "spill " << spill << ", part " << part;
      }
    }
  }
  EXPECT_EQ(points, 5U);
  for (int i = 0; i < 40; ++i) look();
  EXPECT_EQ(look(), 0) << "the beam has gone";
  for (std::size_t i = 0; i < 12 * recent_history::most_points; ++i) look();
  EXPECT_EQ(points, recent_history::most_points);
}

TEST(recent_history, knows_how_long_the_disk_will_do) {
  recent_history history;
  metrics_snapshot s;
  EXPECT_FALSE(filled(history, s, {}).spool) << "no spool";
  s.spool.emplace().room = 1000;
  EXPECT_FALSE(filled(history, s, time_point(1s)).spool->seconds_left);
  s.spool->room = 980;
  EXPECT_DOUBLE_EQ(filled(history, s, time_point(3s)).spool->seconds_left.value_or(0), 98);
  s.spool->room = 990;
  EXPECT_FALSE(filled(history, s, time_point(4s)).spool->seconds_left) << "it becomes more";
}

} // namespace
} // namespace l3
