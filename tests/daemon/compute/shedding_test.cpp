// SPDX-License-Identifier: Apache-2.0
#include "daemon/compute/shedding.hpp"

#include <gtest/gtest.h>

#include "selection/algorithms/decide.hpp"

namespace l3 {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t run = 5;
constexpr double full = 0.98, hardly = 0.85, roomy = 0.5;

/// Three lines of two priorities: 0 and 2 go first.
const std::vector<shedding::line> lines{{11, 60}, {22, 200}, {33, 60}};

event_entry event(std::uint32_t number) { return {.spill = 3, .number = number}; }
event_summary kept_by(std::uint32_t bits) {
  event_summary s{};
  s.lines = 3;
  s.kept_by = s.fired = bits;
  s.kept = 1;
  return s;
}

struct rig {
  shedding s{run, lines};
  time_point now{1s};

  /// Events that cannot wait go on coming.
  void steps(double fullness, int n) {
    for (int i = 0; i < n; ++i) {
      now += 60ms;
      const auto sample = kept_by(2);
      (void)s.keeps(event(1), &sample, now);
      s.look(fullness, now);
    }
  }
  [[nodiscard]] std::uint32_t kept_of(std::uint32_t bits, std::uint32_t events) {
    const auto summary = kept_by(bits);
    std::uint32_t kept = 0;
    for (std::uint32_t n = 1; n <= events; ++n) kept += s.keeps(event(n), &summary, now) ? 1 : 0;
    return kept;
  }
};

TEST(shedding, takes_the_lowest_priority_first_and_step_by_step) {
  rig r;
  const std::vector<std::array<std::uint32_t, 3>> expected{{1, 1, 1},   {2, 1, 2},  {8, 1, 8},
                                                           {32, 1, 32}, {0, 1, 0},  {0, 2, 0},
                                                           {0, 8, 0},   {0, 32, 0}, {0, 32, 0}};
  for (const auto& e : expected) {
    for (std::size_t n = 0; n < 3; ++n) EXPECT_EQ(r.s.prescale(n), e[n]);
    r.steps(full, 1);
  }
  EXPECT_TRUE(r.s.active());
  rig with_some_room;
  with_some_room.steps(0.97, 20);
  EXPECT_EQ(with_some_room.s.prescale(1), 1U) << "the last room is for the highest priority";
}

TEST(shedding, begins_above_95_percent_and_ends_below_80) {
  rig r;
  r.steps(hardly, 5);
  EXPECT_FALSE(r.s.active()) << "it has not begun";
  r.steps(full, 2);
  for (int i = 0; i < 4; ++i) r.s.look(full, r.now += 10ms);
  EXPECT_EQ(r.s.prescale(0), 8U) << "a step has the time to show";
  r.steps(hardly, 20);
  EXPECT_EQ(r.s.prescale(0), 8U) << "neither more nor less between the two";
  r.steps(roomy, 1);
  EXPECT_FALSE(r.s.active());
}

TEST(shedding, leaves_alone_what_its_sender_keeps) {
  rig r;
  auto waits = event(1);
  waits.flags = event_kept_by_sender;
  const auto summary = kept_by(1);
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(r.s.keeps(waits, &summary, r.now += 60ms));
    r.s.look(full, r.now);
  }
  EXPECT_FALSE(r.s.active()) << "the sender waits";
  r.steps(full, 4);
  EXPECT_TRUE(r.s.keeps(waits, &summary, r.now));
}

TEST(shedding, gives_up_first_what_no_line_kept_and_is_only_recorded) {
  rig r;
  event_summary only_recorded = kept_by(0);
  only_recorded.status = recorded;
  r.steps(full, 4);
  std::uint32_t kept = 0;
  for (std::uint32_t n = 1; n <= 100; ++n)
    kept += r.s.keeps(event(n), &only_recorded, r.now) ? 1 : 0;
  EXPECT_EQ(kept, 0U);
  EXPECT_EQ(r.kept_of(0, 100), 100U) << "overfull, and no line takes such events";
}

TEST(shedding, without_lines_and_for_events_not_judged_has_one_priority_the_highest) {
  shedding all(run, {});
  time_point now{1s};
  for (int i = 0; i < 10; ++i) {
    now += 60ms;
    (void)all.keeps(event(1), nullptr, now);
    all.look(full, now);
  }
  std::uint32_t kept = 0;
  for (std::uint32_t n = 1; n <= 6400; ++n) kept += all.keeps(event(n), nullptr, now) ? 1 : 0;
  EXPECT_NEAR(kept, 200, 60) << "one in 32, never none";
  rig r;
  r.steps(full, 4);
  EXPECT_EQ(r.kept_of(0, 100), 100U);
}

} // namespace
} // namespace l3
