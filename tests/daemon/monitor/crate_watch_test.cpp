// SPDX-License-Identifier: Apache-2.0
#include "daemon/monitor/crate_watch.hpp"

#include <random>

#include <gtest/gtest.h>

namespace l3 {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t crates = 18;
constexpr std::size_t bad = 11;

// A detector whose crates send, and a watch that looks twice a second.
class watched : public testing::Test {
protected:
  watched() { watch_.look(counted_, now_, wall_); }

  /// Half a second in which all crates but `without` send so many events.
  void send(std::uint32_t events, std::size_t without = crates) {
    event_.number += events;
    for (std::size_t c = 0; c < crates; ++c) {
      if (c == without) continue;
      counted_.fragments_seen.add(c, events);
      counted_.latest.set(c, event_);
    }
  }
  void look() {
    now_ += 500ms;
    wall_ += 0.5;
    const std::vector<crate_report> before = watch_.reports();
    watch_.look(counted_, now_, wall_, lost_here_);
    for (std::size_t c = 0; c < crates; ++c) {
      const crate_report& r = watch_.reports()[c];
      if (r.fault && r.fault != before[c].fault) told_.push_back(r.text);
    }
  }
  void begin_spill() { event_ = {event_.spill + 1, 0}; }

  void expect(std::optional<crate_fault> fault) {
    for (std::size_t c = 0; c < crates; ++c) {
      const crate_report& r = watch_.reports()[c];
      EXPECT_EQ(r.fault, c == bad ? fault : std::nullopt) << c << ": " << r.text;
    }
  }
  [[nodiscard]] const std::string& text() const { return watch_.reports()[bad].text; }

  building_counters counted_;
  crate_watch watch_{readout::koto()};
  std::uint64_t lost_here_ = 0;
  std::vector<std::string> told_;
  event_key event_{5, 0};
  time_point now_{1s};
  double wall_ = 1000;
};

TEST_F(watched, crates_that_send_alike_have_no_fault) {
  for (int spill = 0; spill < 5; ++spill, begin_spill()) {
    for (int i = 0; i < 4; ++i) {
      send(12'000);
      look();
    }
    for (int i = 0; i < 5; ++i) look();
  }
  // What all have is no fault of one: waiting, losses, a file that is sent twice, stray datagrams.
  send(1000);
  for (std::size_t c = 0; c < crates; ++c) {
    counted_.fragments_overdue.add(c, 10 + c);
    counted_.fragments_missing.add(c, 10 + c);
    counted_.fragments_duplicate.add(c, 100);
  }
  look();
  for (int i = 0; i < 4; ++i) {
    for (std::size_t c = 0; c < crates; ++c) {
      counted_.astray.add(c, 10);
      counted_.latest.set(c, {100, 1});
    }
    look();
  }
  expect(std::nullopt);
  EXPECT_EQ(told_, std::vector<std::string>());
}

/// A moment before or after the others.
TEST_F(watched, crates_that_begin_or_end_a_spill_at_another_moment_have_no_fault) {
  for (int spill = 0; spill < 5; ++spill) {
    begin_spill();
    send(12'500);
    counted_.latest.set(bad, {event_.spill, event_.number - 200}); // 8 ms at 25 000 events/s
    look();
    send(1000);
    counted_.fragments_seen.add(bad, 20); // all of the spill
    counted_.latest.set(bad, {event_.spill, event_.number + 20});
    look();
    send(20, bad);
    for (int i = 0; i < 5; ++i) look();
    counted_.latest.set(bad, {event_.spill + 1, 1}); // the first of the next one
    look();
  }
  send(50);
  send(50, bad); // it dies within a look
  look();
  for (int i = 0; i < 4; ++i) look();
  EXPECT_EQ(told_, std::vector<std::string>());
}

TEST_F(watched, a_crate_that_stops_is_silent_at_the_next_look) {
  send(1000);
  look();
  EXPECT_EQ(watch_.reports()[bad].rate, 2000);
  send(1000, bad);
  look();
  expect(crate_fault::silent);
  EXPECT_EQ(text(), "crate 11 is silent: it has sent nothing of the last 1000 events");
  EXPECT_EQ(watch_.reports()[bad].rate, 0);
  EXPECT_EQ(watch_.reports()[bad].last_fragment, 1000.5);
  EXPECT_EQ(watch_.reports()[bad + 1].last_fragment, 1001);
  for (int i = 0; i < 9; ++i) { // through the pause, until 4.5 s after its last sign
    expect(crate_fault::silent);
    look();
  }
  expect(std::nullopt);
  EXPECT_EQ(told_.size(), 1U) << "it is said once";
}

TEST(crate_watch, names_the_silent_one_of_two_crates) {
  readout two = readout::koto();
  two.crates.resize(2);
  building_counters counted;
  crate_watch watch(two);
  time_point now{1s};
  watch.look(counted, now, 0);
  for (std::uint32_t number = 100; number < 400; number += 100) {
    counted.fragments_seen.add(0, 100);
    counted.latest.set(0, {5, number});
    watch.look(counted, now += 500ms, 0);
  }
  EXPECT_EQ(watch.reports()[1].fault, crate_fault::silent) << watch.reports()[1].text;
  EXPECT_EQ(watch.reports()[0].fault, std::nullopt) << watch.reports()[0].text;
}

TEST_F(watched, a_crate_that_loses_a_few_fragments_is_named_with_their_number) {
  send(1000);
  counted_.fragments_missing.add(bad, 6);
  look();
  expect(crate_fault::loses);
  EXPECT_EQ(text(), "crate 11 loses fragments: 6 of the last 1006 events");
  counted_.fragments_missing.add(bad, 2);
  send(1000);
  look();
  EXPECT_EQ(text(), "crate 11 loses fragments: 8 of the last 2008 events");
  EXPECT_EQ(watch_.reports()[bad].lost, 8U);
  for (int i = 0; i < 3; ++i) {
    expect(crate_fault::loses);
    send(1000);
    look();
  }
  expect(std::nullopt); // 1.5 s of data without a loss
  EXPECT_EQ(watch_.reports()[bad].lost, 0U);
}

TEST_F(watched, few_events_are_no_crates_fault_and_losses_of_this_machine_are_none_either) {
  for (int i = 0; i < 20; ++i) { // the whole sender stalls now and then, within an event
    send(100);
    if (i % 10 == 0) {
      counted_.fragments_overdue.add(bad, 2);
      counted_.fragments_missing.add(bad, 1);
    }
    look();
    expect(std::nullopt);
  }
  lost_here_ += 1000;
  for (int i = 0; i < 6; ++i) {
    send(100);
    counted_.fragments_missing.add(bad, 50);
    counted_.fragments_overdue.add(bad, 50);
    look();
    expect(std::nullopt);
  }
  for (int i = 0; i < 4; ++i) {
    send(100);
    counted_.fragments_missing.add(bad, 50);
    look();
  }
  expect(crate_fault::loses);
}

TEST_F(watched, a_crate_whose_fragments_only_come_late_is_overdue_and_loses_none) {
  for (int i = 0; i < 40; ++i) {
    send(10);
    counted_.fragments_overdue.add(bad, 1);
    look();
    expect(i < 4 ? std::nullopt : std::optional(crate_fault::overdue));
  }
  EXPECT_EQ(text(), "crate 11 is overdue: its fragment of 36 events had not arrived after 250 ms");
  EXPECT_EQ(told_.size(), 1U);
  EXPECT_EQ(watch_.reports()[bad].lost, 0U);
  counted_.fragments_missing.add(bad, 6); // events end that lack it
  look();
  expect(crate_fault::loses);
}

TEST_F(watched, no_crate_is_named_for_long_where_all_lose_by_chance) {
  std::mt19937 chance(7);
  for (const double at_a_look : {0.3, 3.0, 30.0}) {
    for (int i = 0; i < 400; ++i) {
      send(150);
      std::poisson_distribution<std::uint64_t> lost(at_a_look);
      for (std::size_t c = 0; c < crates; ++c) counted_.fragments_missing.add(c, lost(chance));
      look();
      if (i == 60) told_.clear(); // the first that lose stand out
    }
    EXPECT_EQ(told_, std::vector<std::string>()) << at_a_look;
  }
  // One that loses more than the others is named all the same.
  send(150);
  counted_.fragments_missing.add(bad, 1500);
  look();
  expect(crate_fault::loses);
}

TEST_F(watched, a_crate_that_repeats_itself_is_named_unless_all_do) {
  send(100);
  counted_.fragments_duplicate.add(bad, 30);
  look();
  expect(crate_fault::repeats);
  EXPECT_EQ(text(), "crate 11 repeats fragments: 30 arrived again");
}

TEST_F(watched, malformed_fragments_are_named_with_their_reason) {
  send(100);
  counted_.fragments_malformed.add(bad, malformed::header_tag, 2);
  counted_.fragments_malformed.add(bad, malformed::wrong_l1a, 30);
  look();
  expect(crate_fault::malformed);
  EXPECT_EQ(text(), "crate 11 sends malformed fragments: 32, most of them wrong_l1a");
}

TEST_F(watched, a_few_malformed_fragments_name_no_crate_where_all_send_such) {
  send(100);
  for (unsigned c = 0; c < 18; ++c) counted_.fragments_malformed.add(c, malformed::wrong_l1a, 20);
  look();
  send(100);
  counted_.fragments_malformed.add(bad, malformed::wrong_l1a, 6);
  look();
  EXPECT_EQ(told_, std::vector<std::string>());
}

TEST_F(watched, a_crate_that_is_a_spill_behind_is_named_although_it_also_loses) {
  send(100);
  look();
  begin_spill();
  send(100, bad);
  counted_.fragments_seen.add(bad, 100);
  counted_.fragments_late.add(bad, 100);
  counted_.fragments_overdue.add(bad, 100);
  counted_.latest.set(bad, {5, 100});
  look();
  expect(crate_fault::other_spill);
  EXPECT_EQ(text(), "crate 11 is 1 spill behind: it sends spill 5, and the others send spill 6");
}

TEST_F(watched, a_crate_far_behind_whose_datagrams_are_refused_is_named) {
  event_.spill = 2;
  send(100, bad);
  counted_.astray.add(bad, 500);
  counted_.latest.set(bad, {510, 100});
  look();
  expect(crate_fault::other_spill);
  EXPECT_EQ(text(), "crate 11 is 4 spills behind: it sends spill 510, and the others send spill 2");
}

TEST_F(watched, a_counter_that_jumped_is_named) {
  send(100);
  look();
  send(50, bad);
  counted_.fragments_seen.add(bad, 50);
  counted_.fragments_alone.add(bad, 50);
  counted_.fragments_overdue.add(bad, 50);
  counted_.latest.set(bad, {5, 1150});
  look();
  expect(crate_fault::jumped);
  EXPECT_EQ(text(),
            "crate 11 has a wrong event counter: it jumped by +1000, to event 1150 of spill "
            "5, while the others were at 150");
}

TEST_F(watched, a_counter_that_jumped_is_named_also_if_its_events_end_after_the_last_of_all) {
  send(50, bad);
  counted_.fragments_seen.add(bad, 50);
  counted_.latest.set(bad, {5, 1150});
  look();
  expect(std::nullopt);
  counted_.fragments_overdue.add(bad, 50);
  look();
  expect(crate_fault::overdue);
  counted_.fragments_alone.add(bad, 50);
  look();
  expect(crate_fault::jumped);
}

TEST_F(watched, time_stamps_that_stay_ahead_are_a_drift_and_a_single_one_is_none) {
  for (const std::uint32_t ahead : {0U, 0xffff000U, 0U, 0U}) { // -4096 clocks once
    send(100);
    counted_.time_ahead.set(bad, ahead);
    look();
  }
  expect(std::nullopt);
  for (int i = 0; i < 2; ++i) {
    send(100);
    counted_.time_ahead.set(bad, 0xffff000U);
    look();
  }
  expect(crate_fault::drifts);
  EXPECT_EQ(text(), "crate 11 has time stamps that differ from the others by -0.033 ms");
  EXPECT_NEAR(watch_.reports()[bad].time_ahead, -4096 * 8e-9, 1e-12);
}

TEST_F(watched, time_stamps_that_run_away_are_a_drift_at_the_fourth_look_also_of_the_next_spill) {
  for (std::uint32_t n = 1; n <= 4; ++n) {
    expect(std::nullopt);
    send(100);
    // The others are ahead: the crate may be the first of the event.
    for (std::size_t c = 0; c < crates; ++c) counted_.time_ahead.set(c, c == bad ? 0 : 100'000 * n);
    look();
    if (n != 2) continue;
    for (int i = 0; i < 5; ++i) look();
    begin_spill();
  }
  expect(crate_fault::drifts);
}

} // namespace
} // namespace l3
