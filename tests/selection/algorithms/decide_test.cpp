// SPDX-License-Identifier: Apache-2.0
#include "selection/algorithms/decide.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "tests/gpu/executors/cpu_executors.hpp"
#include "tests/selection/algorithms/made_pulses.hpp"

namespace l3::test {
namespace {

/// The input of `decide` for an event.
struct seen_event {
  std::uint32_t number = 1;
  event_summary before; ///< as compute_quantities left it
  std::uint32_t vetoes = 0;
  std::uint32_t unknown = 0;
  std::uint16_t trigger = 0;
  std::uint32_t hits = 0;
  std::vector<veto_hit_summary> high;
  bool undecodable = false;  ///< one of its two boards cannot be decoded
  bool raw_fragment = false; ///< one of its fragments is raw
};

constexpr std::uint32_t run = 7;
constexpr std::uint32_t spill = 3;

/// Judges events of two boards and a fragment each, in poisoned memory.
template <class Queue>
std::vector<event_summary> judge(Queue queue, const std::vector<line_entry>& lines,
                                 const std::vector<seen_event>& events, bool record = false) {
  const auto n = static_cast<std::uint32_t>(events.size());
  const slot_rows<board_signals, Queue> boards(queue, 2 * n);
  const slot_rows<hit_counts, Queue> counts(queue, n);
  const slot_rows<veto_bits, Queue> bits(queue, n);
  const slot_rows<high_hits, Queue> high(queue, n);
  const slot_rows<summaries, Queue> out(queue, n);
  std::vector<event_entry> entries(n);
  std::vector<fragment_entry> fragments(n);
  std::vector<std::uint8_t> accepted(n, 0xa5);
  for (std::uint32_t e = 0; e < n; ++e) {
    entries[e].spill = spill;
    entries[e].number = events[e].number;
    entries[e].first_board = 2 * e;
    entries[e].boards = 2;
    entries[e].first_fragment = e;
    entries[e].fragments = 1;
    fragments[e].raw = events[e].raw_fragment ? 1 : 0;
    boards.host().number[2 * e] = 4;
    boards.host().number[2 * e + 1] = events[e].undecodable ? board_signals::unread : 5;
    counts.host().found[e] = events[e].hits;
    bits.host()[e] = {events[e].vetoes, events[e].unknown, events[e].trigger};
    high.host().all[e].count = static_cast<std::uint32_t>(events[e].high.size());
    std::ranges::copy(events[e].high, high.host().all[e].hit);
    out.host().all[e] = events[e].before;
  }
  selection_frame f;
  f.packing.events.accepted = {accepted.data(), n};
  f.batch.events = {entries.data(), n};
  f.batch.fragments = {fragments.data(), n};
  f.tables.lines = {lines.data(), static_cast<std::uint32_t>(lines.size())};
  f.tables.constants.lines = static_cast<std::uint16_t>(lines.size());
  for (const line_entry& l : lines)
    f.tables.constants.overfull_lines =
        static_cast<std::uint16_t>(f.tables.constants.overfull_lines + l.overfull);
  f.tables.constants.run = run;
  f.tables.constants.record = record ? 1 : 0;
  queue.run(decide{}, n, f, board_signals::columns::const_view(boards.host()),
            hit_counts::columns::const_view(counts.host()),
            veto_bits::columns::const_view(bits.host()),
            high_hits::columns::const_view(high.host()), out.host());
  for (std::uint32_t e = 0; e < n; ++e) EXPECT_EQ(accepted[e], out.host().all[e].kept);
  return {out.host().all.data(), out.host().all.data() + n};
}

TEST(prescale, of_two_lines_do_not_go_together) {
  std::uint32_t both = 0;
  for (std::uint32_t number = 1; number <= 100000; ++number)
    both +=
        survives_prescale(run, spill, number, 1, 10) && survives_prescale(run, spill, number, 2, 10)
            ? 1
            : 0;
  EXPECT_NEAR(both, 1000, 4 * std::sqrt(990));
}

std::vector<line_entry> random_lines(randomness& r) {
  std::vector<line_entry> lines(below(r, max_lines + 1));
  for (line_entry& l : lines) {
    l.id = below(r, 1000);
    l.prescale = 1 + below(r, 3);
    l.trigger_any = static_cast<std::uint16_t>(below(r, 4));
    l.trigger_none = static_cast<std::uint16_t>(below(r, 4) & below(r, 4) & below(r, 4));
    l.vetoes_off = below(r, 8) & below(r, 8);
    l.vetoes_on = below(r, 8) & below(r, 8) & below(r, 8);
    l.undecodable = below(r, 8) == 0 ? 1 : 0;
    l.overfull = below(r, 30) == 0 ? 1 : 0;
    l.unknown = static_cast<unknown_rule>(below(r, 3));
    const std::uint32_t ranges = below(r, 4);
    for (std::uint32_t k = 0; k < ranges; ++k) {
      const auto from = static_cast<std::int32_t>(below(r, 10));
      l.range[l.ranges++] = {below(r, 9) == 0 ? undefined_quantity : from,
                             from + static_cast<std::int32_t>(below(r, 10)),
                             static_cast<quantity>(below(r, quantities))};
    }
    if (l.overfull == 1) { // its check refuses such a line with any of these
      l.vetoes_off = l.vetoes_on = 0;
      l.ranges = 0;
    }
  }
  return lines;
}

std::vector<seen_event> random_events(std::uint32_t n, randomness& r) {
  std::vector<seen_event> events(n);
  for (seen_event& e : events) {
    e.number = below(r, 100000);
    e.vetoes = below(r, 8) & below(r, 8);
    e.unknown = below(r, 3) == 0 ? below(r, 8) | (below(r, 4) << 30) : 0;
    e.trigger = static_cast<std::uint16_t>(below(r, 8));
    e.hits = below(r, 20) == 0 ? hits::max_hits + 1 + below(r, 99) : below(r, hits::max_hits + 1);
    e.undecodable = below(r, 5) == 0;
    e.raw_fragment = below(r, 9) == 0;
    for (std::uint32_t k = below(r, 3); k > 0; --k)
      e.high.push_back({static_cast<std::int32_t>(below(r, 900)), 5, 0, 1, 0});
    e.before.status = below(r, 20) == 0 ? too_many_clusters : 0;
    for (std::int32_t& q : e.before.quantity)
      q = below(r, 9) == 0 ? undefined_quantity : static_cast<std::int32_t>(below(r, 15));
  }
  return events;
}

/// The first condition of a line that an event fails, by the definition in docs/selection.md.
std::uint32_t textbook_reason(const line_entry& l, const seen_event& e, bool overfull) {
  const auto has = [](std::uint32_t bits, int n) { return (bits >> n & 1) != 0; };
  const bool refuses = l.unknown == unknown_rule::refuse;
  const bool passes = l.unknown == unknown_rule::keep;
  const bool asks_trigger = l.trigger_any != 0 || l.trigger_none != 0;
  const bool no_trigger_word = has(e.unknown, 30);
  const bool no_calorimeter = has(e.unknown, 31);
  if (refuses && asks_trigger && no_trigger_word) return line_unknown;
  if (refuses && l.ranges != 0 && no_calorimeter) return line_unknown;
  for (int n = 0; n < 30; ++n)
    if (refuses && has(l.vetoes_off | l.vetoes_on, n) && has(e.unknown, n)) return line_unknown;
  if (!no_trigger_word && l.trigger_any != 0 && (l.trigger_any & e.trigger) == 0)
    return line_trigger;
  if (!no_trigger_word && (l.trigger_none & e.trigger) != 0) return line_trigger;
  if (l.undecodable == 1 && !e.undecodable && !e.raw_fragment) return line_decodable;
  if (l.overfull == 1) return overfull ? line_fired : line_not_overfull;
  if (overfull && (l.ranges != 0 || l.vetoes_off != 0 || l.vetoes_on != 0)) return line_not_judged;
  for (int n = 0; n < 30; ++n)
    if (has(l.vetoes_off, n) && has(e.vetoes, n)) return line_veto;
  for (int n = 0; n < 30; ++n)
    if (has(l.vetoes_on, n) && !has(e.vetoes, n) && !(passes && has(e.unknown, n)))
      return line_veto_missing;
  if (l.ranges != 0 && no_calorimeter && passes) return line_fired;
  for (int k = 0; k < l.ranges; ++k) {
    const auto q = static_cast<std::uint32_t>(l.range[k].what);
    const std::int32_t value = e.before.quantity[q];
    if (value == undefined_quantity || value < l.range[k].from || value > l.range[k].to)
      return line_out_of_range + q;
  }
  return line_fired;
}

/// The summary of an event behind `decide`.
event_summary textbook_decision(const std::vector<line_entry>& lines, const seen_event& e,
                                bool record) {
  event_summary s = e.before;
  if (e.hits > hits::max_hits) s.status |= too_many_hits;
  const bool overfull = (s.status & (too_many_clusters | too_many_hits)) != 0;
  bool wanted =
      overfull && std::ranges::none_of(lines, [](const line_entry& l) { return l.overfull == 1; });
  for (std::size_t n = 0; n < lines.size(); ++n) {
    const std::uint32_t reason = textbook_reason(lines[n], e, overfull);
    const bool left = survives_prescale(run, spill, e.number, lines[n].id, lines[n].prescale);
    s.reason[n] = static_cast<std::uint8_t>(
        reason == line_fired && !left ? std::uint32_t{line_prescale} : reason);
    if (reason == line_fired) s.fired |= 1U << n;
    if (reason == line_fired && left) s.kept_by |= 1U << n;
  }
  wanted = wanted || s.kept_by != 0;
  if (record && !wanted) s.status |= recorded;
  s.kept = wanted || record ? 1 : 0;
  s.vetoes = e.vetoes;
  s.unknown = e.unknown;
  s.trigger = e.trigger;
  s.lines = static_cast<std::uint8_t>(lines.size());
  s.hits = static_cast<std::uint8_t>(e.high.size());
  std::ranges::copy(e.high, s.hit);
  return s;
}

TEST(decide, agrees_with_the_textbook_on_any_event_and_on_every_executor) {
  randomness r(5);
  thread_pool pool(3);
  std::array<std::uint32_t, line_out_of_range + 1> seen{};
  for (int again = 0; again < 60; ++again) {
    const bool record = again % 4 == 3;
    const auto lines = random_lines(r);
    const auto events = random_events(40, r);
    const auto found = judge(serial_queue(), lines, events, record);
    for (std::size_t e = 0; e < events.size(); ++e) {
      const event_summary expected = textbook_decision(lines, events[e], record);
      for (std::size_t n = 0; n < lines.size(); ++n) {
        ASSERT_EQ(found[e].reason[n], expected.reason[n]) << "line " << n << " of event " << e;
        ++seen[std::min<std::size_t>(expected.reason[n], line_out_of_range)];
      }
      ASSERT_EQ(found[e], expected) << "event " << e;
    }
    ASSERT_EQ(judge(serial_queue(32), lines, events, record), found);
    ASSERT_EQ(judge(shuffled_queue(32, 1), lines, events, record), found);
    ASSERT_EQ(judge(pool_queue(pool), lines, events, record), found);
    if (again < 5) { // this executor is slow
      ASSERT_EQ(judge(threaded_queue(3), lines, events, record), found);
    }
  }
  for (std::uint32_t reason = 0; reason <= line_not_overfull; ++reason)
    EXPECT_GT(seen[reason], 100U) << reason;
  EXPECT_GT(seen[line_out_of_range], 1000U);
}

} // namespace
} // namespace l3::test
