// SPDX-License-Identifier: Apache-2.0
// What lines cost of the link, by hand and against events drawn at random.
#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "tools/budget/budget_report.hpp"
#include "tools/budget/line_budget.hpp"

namespace l3 {
namespace {

/// Two lines; 100 events of line 0, 40 of line 1, of which 10 are of both; 1000 events in a spill.
budget two_lines() {
  budget b;
  b.lines = {{"whole", 4, event_payload::all, 0}, {"suppressed", 1, event_payload::suppressed, 5}};
  b.kinds = {{"all", 2000}};
  for (std::uint32_t k = 0; k < 130; ++k)
    b.events.push_back({k < 90 ? 0b01U : k < 100 ? 0b11U : 0b10U, 0, {{1000, 100, 50, 10}}});
  b.events_seen = 2000;
  b.events_per_spill = 1000;
  b.link_bytes = 40'000;
  return b;
}

TEST(budget, adds_up_what_lines_keep) {
  const budget b = two_lines();
  EXPECT_DOUBLE_EQ(b.spills(), 2);
  const budget_sum all = expected(b, b.lines);
  // 90 of line 0 alone; 10 of both: kept always, whole if line 0 or the control sample takes them;
  // 30 of line 1 alone, one in five whole.
  const double both_whole = 1 - (1 - 0.25) * (1 - 0.2);
  EXPECT_DOUBLE_EQ(all.events, (90 * 0.25 + 10 + 30) / 2);
  EXPECT_DOUBLE_EQ(all.bytes,
                   (90 * 0.25 * 1000 + 10 * (both_whole * 1000 + (1 - both_whole) * 100) +
                    30 * (0.2 * 1000 + 0.8 * 100)) /
                       2);
  const auto by = expected_by_payload(b);
  EXPECT_NEAR(by[0].events + by[1].events + by[2].events + by[3].events, all.events, 1e-9);
  EXPECT_NEAR(by[1].events, (10 * (1 - both_whole) + 30 * 0.8) / 2, 1e-9);
  EXPECT_DOUBLE_EQ(expected_by_kind(b)[0].bytes, all.bytes);
}

TEST(budget, is_what_events_that_are_drawn_give) {
  const budget b = two_lines();
  std::mt19937 random(1);
  const auto one_in = [&](double n) { return std::uniform_real_distribution<>(0, n)(random) < 1; };
  double bytes = 0;
  constexpr int turns = 4000;
  for (int turn = 0; turn < turns; ++turn)
    for (const budget_event& e : b.events) {
      std::size_t most = event_payloads;
      for (std::size_t n = 0; n < b.lines.size(); ++n) {
        if ((e.fired >> n & 1) == 0 || !one_in(b.lines[n].prescale)) continue;
        const bool control = b.lines[n].control != 0 && one_in(b.lines[n].control);
        most = std::min(most, control ? 0 : static_cast<std::size_t>(b.lines[n].payload));
      }
      if (most < event_payloads) bytes += e.bytes[0][most];
    }
  const double expect = expected(b, b.lines).bytes;
  EXPECT_NEAR(bytes / turns / b.spills(), expect, 0.01 * expect);
}

TEST(budget, tells_each_line_alone_and_what_fills_the_link) {
  const budget b = two_lines();
  const line_cost first = cost_of(b, 0);
  EXPECT_DOUBLE_EQ(first.fired, 50);
  EXPECT_DOUBLE_EQ(first.now.bytes, 50 * 0.25 * 1000);
  EXPECT_DOUBLE_EQ(first.whole[0].bytes, 50'000);
  EXPECT_DOUBLE_EQ(first.whole[3].bytes, 500);
  ASSERT_TRUE(first.fills);
  budget filled = b;
  filled.lines[0].prescale = *first.fills;
  EXPECT_NEAR(expected(filled, filled.lines).bytes, b.link_bytes, 1);
  EXPECT_FALSE(cost_of(b, 1).fills) << "even without prescale there is room";
  const auto factor = filling_factor(b);
  ASSERT_TRUE(factor);
  EXPECT_NEAR(*factor * 4, *first.fills, 1e-6);
  const auto menu = scaled(b, *factor);
  EXPECT_EQ(menu[0].prescale, 2) << "rounded up";
  EXPECT_EQ(menu[1].prescale, 1);
  EXPECT_LE(expected(b, menu).bytes, b.link_bytes);
  budget wide = b;
  wide.link_bytes = 1e6;
  EXPECT_FALSE(filling_factor(wide));
  wide.link_bytes = 1;
  EXPECT_FALSE(filling_factor(wide));
}

/// An event has the lowest rounding of the lines that keep it, and none if a control sample does.
TEST(budget, knows_what_rounding_saves) {
  budget b = two_lines();
  b.roundings = {0, 1, 3};
  b.least = {{0, 0, 0}, {0, 1, 1}, {0, 1, 2}};
  for (budget_event& e : b.events)
    e.bytes = {{1000, 100, 50, 10}, {700, 60, 0, 0}, {400, 40, 0, 0}};
  b.lines[0].rounding = 1;
  b.lines[1].rounding = 2;
  const double both_whole = 0.25 * 0.8;
  EXPECT_DOUBLE_EQ(expected(b, b.lines).bytes,
                   (90 * 0.25 * 700 +
                    10 * (0.2 * 1000 + both_whole * 700 + (1 - 0.2 - both_whole) * 40) +
                    30 * (0.2 * 1000 + 0.8 * 40)) /
                       2);
  auto by = expected_by_error(b);
  EXPECT_NEAR(by[0].events + by[1].events + by[3].events, expected(b, b.lines).events, 1e-9);
  EXPECT_NEAR(by[0].events, 40 * 0.2 / 2, 1e-9);
  const line_cost c = cost_of(b, 1);
  EXPECT_DOUBLE_EQ(c.whole[1].bytes, 20 * 40);
  EXPECT_DOUBLE_EQ(c.exact[1].bytes, 20 * 100);
}

/// Two lines whose errors are by counter: an event of both has what neither has alone.
TEST(budget, takes_the_least_of_each_counter) {
  budget b = two_lines();
  b.roundings = {0, 2, 2, 3};
  constexpr std::size_t both = 1; // of 2, all counters, and 3, but none for the calorimeter
  b.least = {{0, 0, 0, 0}, {0, 1, 1, 1}, {0, 1, 2, both}, {0, 1, both, 3}};
  for (budget_event& e : b.events)
    e.bytes = {{1000, 100, 50, 10}, {900, 90, 0, 0}, {500, 50, 0, 0}, {800, 80, 0, 0}};
  b.lines = {{"even", 4, event_payload::suppressed, 0, 2},
             {"by_counter", 1, event_payload::suppressed, 5, 3}};
  EXPECT_DOUBLE_EQ(expected(b, b.lines).bytes,
                   (90 * 0.25 * 50 + 10 * (0.2 * 1000 + 0.8 * 0.25 * 90 + 0.8 * 0.75 * 80) +
                    30 * (0.2 * 1000 + 0.8 * 80)) /
                       2);
  auto by = expected_by_error(b);
  EXPECT_NEAR(by[2].events, (90 * 0.25 + 10 * 0.8 * 0.25) / 2, 1e-9);
  b.lines[0].payload = event_payload::features; // it asks for no samples, and lowers no error
  b.lines[0].rounding = 0;
  EXPECT_DOUBLE_EQ(expected(b, b.lines).bytes, (90 * 0.25 * 50 + 40 * (0.2 * 1000 + 0.8 * 80)) / 2);
}

TEST(budget, keeps_events_that_no_line_kept) {
  budget b = two_lines();
  b.events.assign(10, {0, 0, {{1000, 100, 50, 10}}});
  EXPECT_DOUBLE_EQ(expected(b, b.lines).bytes, 5000);
}

TEST(budget, is_shown_with_every_line) {
  const budget b = two_lines();
  budget other = b;
  other.codec = "strong";
  for (budget_event& e : other.events) e.bytes[0][0] = 765;
  const std::vector<budget> both{b, other};
  for (const std::string& text : {budget_table(both), budget_json(both), budget_svg(both)}) {
    EXPECT_NE(text.find("whole"), std::string::npos);
    EXPECT_NE(text.find("suppressed"), std::string::npos);
    EXPECT_NE(text.find("koto"), std::string::npos);
    EXPECT_NE(text.find("strong"), std::string::npos);
  }
  // Of line 0 without prescale 50 events a spill, of a link of 40 000 bytes.
  const std::string table = budget_table(both);
  EXPECT_NE(table.find("125.00"), std::string::npos) << table;
  EXPECT_NE(table.find(" 95.6"), std::string::npos) << table;
  EXPECT_EQ(budget_table({&b, 1}).find("strong\""), std::string::npos);
}

} // namespace
} // namespace l3
