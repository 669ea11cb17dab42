// SPDX-License-Identifier: Apache-2.0
#include "selection/algorithms/decide.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/executors/pool.hpp"
#include "gpu/executors/serial.hpp"
#include "gpu/executors/shuffled.hpp"
#include "gpu/executors/threaded.hpp"
#include "tests/gpu/decode/make_boards.hpp"

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
std::vector<event_summary>
judge(Queue queue, const std::vector<line_entry>& lines, const std::vector<seen_event>& events,
      std::vector<std::uint8_t>* accepted = nullptr, bool record = false) {
  const auto n = static_cast<std::uint32_t>(events.size());
  const batch_capacity capacity{n, n, 0, 2 * n, 0};
  const auto take = [&](region& r, auto& f, auto& boards, auto& counts, auto& bits, auto& high,
                        auto& out) {
    f.packing.events = event_columns::view(
        {.accepted = r.take<std::uint8_t>(n), .results = r.take<event_result>(n)});
    boards = board_signals::columns::take(r, board_signals::rows(capacity));
    counts = hit_counts::columns::take(r, n);
    bits = veto_bits::columns::take(r, n);
    high = high_hits::columns::take(r, n);
    out = summaries::columns::take(r, n);
  };
  selection_frame f;
  board_signals::columns::view boards;
  hit_counts::columns::view counts;
  veto_bits::columns::view bits;
  high_hits::columns::view high;
  summaries::columns::view out;
  region counted;
  take(counted, f, boards, counts, bits, high, out);
  const buffer memory = host_memory::allocate(counted.used());
  std::memset(memory.data(), 0xa5, memory.size());
  region here(memory);
  take(here, f, boards, counts, bits, high, out);

  std::vector<event_entry> entries(n);
  std::vector<fragment_entry> fragments(n);
  for (std::uint32_t e = 0; e < n; ++e) {
    entries[e].spill = spill;
    entries[e].number = events[e].number;
    entries[e].first_board = 2 * e;
    entries[e].boards = 2;
    entries[e].first_fragment = e;
    entries[e].fragments = 1;
    fragments[e].raw = events[e].raw_fragment ? 1 : 0;
    boards.number[2 * e] = 4;
    boards.number[2 * e + 1] = events[e].undecodable ? board_signals::unread : 5;
    counts.found[e] = events[e].hits;
    bits.fired[e] = events[e].vetoes;
    bits.unknown[e] = events[e].unknown;
    bits.trigger[e] = events[e].trigger;
    high.all[e].count = static_cast<std::uint32_t>(events[e].high.size());
    std::ranges::copy(events[e].high, high.all[e].hit);
    out.all[e] = events[e].before;
  }
  f.batch.events = {entries.data(), n};
  f.batch.fragments = {fragments.data(), n};
  f.tables.lines = {lines.data(), static_cast<std::uint32_t>(lines.size())};
  f.tables.constants.lines = static_cast<std::uint16_t>(lines.size());
  for (const line_entry& l : lines)
    f.tables.constants.overfull_lines =
        static_cast<std::uint16_t>(f.tables.constants.overfull_lines + l.overfull);
  f.tables.constants.run = run;
  f.tables.constants.record = record ? 1 : 0;
  queue.run(decide{}, n, f, board_signals::columns::const_view(boards),
            hit_counts::columns::const_view(counts), veto_bits::columns::const_view(bits),
            high_hits::columns::const_view(high), out);
  EXPECT_EQ(decide::broken_promise(f, boards, counts, bits, high, out), nullptr);
  if (accepted != nullptr)
    accepted->assign(f.packing.events.accepted.data(), f.packing.events.accepted.data() + n);
  return {out.all.data(), out.all.data() + n};
}

event_summary judge_one(const line_entry& line, const seen_event& event) {
  return judge(serial_queue(), {line}, {event})[0];
}

line_entry any_event(std::uint32_t id = 1, std::uint32_t prescale = 1) {
  line_entry l;
  l.id = id;
  l.prescale = prescale;
  return l;
}

void add_range(line_entry& l, quantity what, std::int32_t from, std::int32_t to) {
  l.range[l.ranges++] = {from, to, what};
}

std::uint32_t index_of(quantity q) { return static_cast<std::uint32_t>(q); }

TEST(decide, keeps_what_a_line_fires_on) {
  const event_summary s = judge_one(any_event(), {});
  EXPECT_EQ(s.fired, 1U);
  EXPECT_EQ(s.kept_by, 1U);
  EXPECT_EQ(s.kept, 1);
  EXPECT_EQ(s.lines, 1);
  EXPECT_EQ(s.reason[0], line_fired);
}

TEST(decide, rejects_what_no_line_fires_on) {
  std::vector<std::uint8_t> accepted;
  line_entry l = any_event();
  l.trigger_any = 1;
  const auto s = judge(serial_queue(), {l, l}, {seen_event{}}, &accepted)[0];
  EXPECT_EQ(s.fired, 0U);
  EXPECT_EQ(s.kept, 0);
  EXPECT_EQ(s.reason[1], line_trigger);
  EXPECT_EQ(accepted, std::vector<std::uint8_t>{0});
}

TEST(decide, rejects_everything_without_lines) {
  EXPECT_EQ(judge(serial_queue(), {}, {seen_event{}})[0].kept, 0);
}

TEST(decide, wants_one_of_the_level_1_bits_and_none_of_others) {
  line_entry l = any_event();
  l.trigger_any = 0b0110;
  l.trigger_none = 0b1000;
  const auto reason = [&](std::uint16_t trigger) {
    seen_event e;
    e.trigger = trigger;
    return judge_one(l, e).reason[0];
  };
  EXPECT_EQ(reason(0b0010), line_fired);
  EXPECT_EQ(reason(0b0111), line_fired);
  EXPECT_EQ(reason(0b0001), line_trigger);
  EXPECT_EQ(reason(0b1010), line_trigger);
}

TEST(decide, includes_both_ends_of_a_range) {
  line_entry l = any_event();
  add_range(l, quantity::photons, 0, 40);
  add_range(l, quantity::vertex_z, -5, 5);
  const auto reason = [&](std::int32_t z) {
    seen_event e;
    e.before.quantity[index_of(quantity::vertex_z)] = z;
    return judge_one(l, e).reason[0];
  };
  EXPECT_EQ(reason(-5), line_fired);
  EXPECT_EQ(reason(5), line_fired);
  EXPECT_EQ(reason(-6), line_out_of_range + index_of(quantity::vertex_z));
  EXPECT_EQ(reason(6), line_out_of_range + index_of(quantity::vertex_z));
}

TEST(decide, finds_undefined_quantities_in_no_range) {
  line_entry l = any_event();
  add_range(l, quantity::opening, undefined_quantity, 0x7fffffff);
  seen_event e;
  EXPECT_EQ(judge_one(l, e).kept, 1);
  e.before.quantity[index_of(quantity::opening)] = undefined_quantity;
  EXPECT_EQ(judge_one(l, e).kept, 0);
}

TEST(decide, asks_counters_to_be_silent_or_to_have_fired) {
  line_entry l = any_event();
  l.vetoes_off = 0b001;
  l.vetoes_on = 0b110;
  const auto reason = [&](std::uint32_t vetoes) {
    seen_event e;
    e.vetoes = vetoes;
    return judge_one(l, e).reason[0];
  };
  EXPECT_EQ(reason(0b110), line_fired);
  EXPECT_EQ(reason(0b1110), line_fired);
  EXPECT_EQ(reason(0b111), line_veto);
  EXPECT_EQ(reason(0b010), line_veto_missing);
}

TEST(decide, treats_unknown_counters_as_the_line_says) {
  line_entry l = any_event();
  l.vetoes_off = 0b0001;
  l.vetoes_on = 0b0010;
  const auto reason = [&](unknown_rule rule, std::uint32_t fired, std::uint32_t unknown) {
    l.unknown = rule;
    seen_event e;
    e.vetoes = fired;
    e.unknown = unknown;
    return judge_one(l, e).reason[0];
  };
  EXPECT_EQ(reason(unknown_rule::ignore, 0b10, 0b01), line_fired);
  EXPECT_EQ(reason(unknown_rule::ignore, 0b11, 0b01), line_veto); // the boards that are there fired
  EXPECT_EQ(reason(unknown_rule::ignore, 0b00, 0b10), line_veto_missing);
  EXPECT_EQ(reason(unknown_rule::keep, 0b10, 0b01), line_fired);
  EXPECT_EQ(reason(unknown_rule::keep, 0b11, 0b01), line_veto); // it did fire
  EXPECT_EQ(reason(unknown_rule::keep, 0b00, 0b10), line_fired);
  EXPECT_EQ(reason(unknown_rule::keep, 0b01, 0b10), line_veto);
  EXPECT_EQ(reason(unknown_rule::refuse, 0b10, 0b01), line_unknown);
  EXPECT_EQ(reason(unknown_rule::refuse, 0b10, 0b100), line_fired); // no condition on that counter
}

TEST(decide, takes_an_event_without_trigger_word_as_triggered_unless_the_line_refuses) {
  line_entry l = any_event();
  const auto reason = [&](unknown_rule rule) {
    l.unknown = rule;
    seen_event e;
    e.unknown = trigger_unknown;
    return judge_one(l, e).reason[0];
  };
  EXPECT_EQ(reason(unknown_rule::refuse), line_fired) << "it does not ask for the trigger";
  l.trigger_any = 1;
  EXPECT_EQ(reason(unknown_rule::ignore), line_fired);
  EXPECT_EQ(reason(unknown_rule::keep), line_fired);
  EXPECT_EQ(reason(unknown_rule::refuse), line_unknown);
  l.trigger_any = 0;
  l.trigger_none = 2;
  EXPECT_EQ(reason(unknown_rule::ignore), line_fired);
  EXPECT_EQ(reason(unknown_rule::refuse), line_unknown);
}

TEST(decide, treats_an_unknown_calorimeter_as_the_line_says) {
  line_entry l = any_event();
  add_range(l, quantity::photons, 2, 2);
  const auto reason = [&](unknown_rule rule) {
    l.unknown = rule;
    seen_event e;
    e.unknown = calorimeter_unknown;
    return judge_one(l, e).reason[0];
  };
  EXPECT_EQ(reason(unknown_rule::ignore), line_out_of_range + index_of(quantity::photons));
  EXPECT_EQ(reason(unknown_rule::keep), line_fired);
  EXPECT_EQ(reason(unknown_rule::refuse), line_unknown);
  l.ranges = 0;
  EXPECT_EQ(reason(unknown_rule::refuse), line_fired);
}

TEST(decide, knows_events_that_cannot_be_decoded) {
  line_entry l = any_event();
  l.undecodable = 1;
  seen_event e;
  EXPECT_EQ(judge_one(l, e).reason[0], line_decodable);
  e.undecodable = true;
  EXPECT_EQ(judge_one(l, e).reason[0], line_fired);
  e = {};
  e.raw_fragment = true;
  EXPECT_EQ(judge_one(l, e).reason[0], line_fired);
}

std::array<seen_event, 2> overfull_events() {
  std::array<seen_event, 2> events;
  events[0].before.status = too_many_clusters;
  events[1].hits = hits::max_hits + 1;
  return events;
}

TEST(decide, keeps_overfull_events_unless_a_line_takes_them) {
  line_entry asks = any_event();
  add_range(asks, quantity::photons, 0, 0);
  for (const seen_event& e : overfull_events()) {
    const event_summary s = judge_one(asks, e);
    EXPECT_EQ(s.kept, 1);
    EXPECT_EQ(s.fired, 0U);
    EXPECT_EQ(s.reason[0], line_not_judged);
    EXPECT_EQ(s.status, e.hits != 0 ? too_many_hits : too_many_clusters);
    line_entry takes = any_event(2);
    takes.overfull = 1;
    const auto both = judge(serial_queue(), {asks, takes}, {e})[0];
    EXPECT_EQ(both.kept, 1);
    EXPECT_EQ(both.kept_by, 2U);
    takes.trigger_any = 4; // such a line, and not these events
    const auto neither = judge(serial_queue(), {asks, takes}, {e})[0];
    EXPECT_EQ(neither.kept, 0);
    EXPECT_EQ(neither.reason[1], line_trigger);
  }
}

TEST(decide, keeps_all_when_it_records_and_says_what_no_line_kept) {
  line_entry wants = any_event();
  wants.trigger_any = 4;
  std::vector<seen_event> events(3);
  events[0].trigger = 4;
  events.push_back(overfull_events()[1]);
  const auto selected = judge(serial_queue(), {wants}, events);
  std::vector<std::uint8_t> accepted;
  const auto all = judge(serial_queue(), {wants}, events, &accepted, true);
  EXPECT_EQ(accepted, (std::vector<std::uint8_t>{1, 1, 1, 1}));
  for (std::size_t e = 0; e < all.size(); ++e) {
    event_summary without = all[e];
    EXPECT_EQ(without.kept, 1);
    EXPECT_EQ((without.status & recorded) != 0, selected[e].kept == 0) << e;
    without.status &= static_cast<std::uint8_t>(~std::uint32_t{recorded});
    without.kept = selected[e].kept;
    EXPECT_EQ(without, selected[e]) << "what the lines decide is the same";
  }
  EXPECT_EQ(all[0].status, 0);
  EXPECT_EQ(all[3].status, too_many_hits) << "it is kept with or without recording";
}

TEST(decide, hands_on_the_highest_hits) {
  seen_event e;
  e.high = {{700, -3, 2, 0, 0}, {900, 5, 0, 1, 0}};
  const event_summary s = judge_one(any_event(), e);
  ASSERT_EQ(s.hits, 2U);
  EXPECT_EQ(s.hit[0], e.high[0]);
  EXPECT_EQ(s.hit[1], e.high[1]);
  EXPECT_EQ(s.hit[2], veto_hit_summary{});
}

TEST(decide, prescales_overfull_events) {
  line_entry takes = any_event(2, 4);
  takes.overfull = 1;
  std::uint32_t kept = 0;
  std::uint32_t left = 0;
  for (std::uint32_t number = 1; number <= 400; ++number) {
    seen_event e = overfull_events()[1];
    e.number = number;
    const event_summary s = judge_one(takes, e);
    EXPECT_EQ(s.fired, 1U);
    kept += s.kept;
    left += survives_prescale(run, spill, number, 2, 4) ? 1 : 0;
  }
  EXPECT_EQ(kept, left);
}

TEST(decide, judges_overfull_events_by_lines_that_ask_for_neither_quantities_nor_counters) {
  const auto reason = [](auto&& ask) {
    line_entry l = any_event();
    ask(l);
    return judge_one(l, overfull_events()[1]).reason[0];
  };
  EXPECT_EQ(reason([](line_entry&) {}), line_fired);
  EXPECT_EQ(reason([](line_entry& l) { l.trigger_any = 1; }), line_trigger);
  EXPECT_EQ(reason([](line_entry& l) { l.undecodable = 1; }), line_decodable);
  EXPECT_EQ(reason([](line_entry& l) { l.vetoes_off = 2; }), line_not_judged);
  EXPECT_EQ(reason([](line_entry& l) { l.vetoes_on = 2; }), line_not_judged);
}

TEST(decide, refuses_other_events_by_a_line_for_overfull_ones) {
  line_entry l = any_event();
  l.overfull = 1;
  seen_event e;
  EXPECT_EQ(judge_one(l, e).reason[0], line_not_overfull);
  e.hits = hits::max_hits;
  e.before.status = more_photons;
  const event_summary s = judge_one(l, e);
  EXPECT_EQ(s.status, more_photons);
  EXPECT_EQ(s.kept, 0);
}

TEST(prescale, is_what_it_is_defined_to_be) {
  // docs/formats.md, section 7; another program computed these values.
  EXPECT_EQ(mix_bits(1), 0x5692161d100b05e5U);
  std::vector<std::uint32_t> survivors;
  for (std::uint32_t number = 1; number < 60; ++number)
    if (survives_prescale(7, 3, number, 99, 10)) survivors.push_back(number);
  EXPECT_EQ(survivors, (std::vector<std::uint32_t>{3, 37, 45, 49, 57}));
  std::uint32_t kept = 0;
  for (std::uint32_t number = 1; number <= 100000; ++number)
    kept += survives_prescale(run, spill, number, 99, 10) ? 1 : 0;
  EXPECT_NEAR(kept, 10000, 4 * std::sqrt(9000)); // four standard deviations
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

TEST(decide, counts_a_prescaled_line_as_fired) {
  std::uint32_t number = 1;
  while (survives_prescale(run, spill, number, 5, 4)) ++number;
  seen_event e;
  e.number = number;
  const event_summary s = judge_one(any_event(5, 4), e);
  EXPECT_EQ(s.fired, 1U);
  EXPECT_EQ(s.kept_by, 0U);
  EXPECT_EQ(s.kept, 0);
  EXPECT_EQ(s.reason[0], line_prescale);
}

// Random events and lines, on every executor.

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
      add_range(l, static_cast<quantity>(below(r, quantities)), from,
                from + static_cast<std::int32_t>(below(r, 10)));
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
    e.hits = below(r, 20) == 0 ? 600 : below(r, 500);
    e.undecodable = below(r, 5) == 0;
    e.raw_fragment = below(r, 9) == 0;
    e.before.status = below(r, 20) == 0 ? too_many_clusters : 0;
    for (std::int32_t& q : e.before.quantity)
      q = below(r, 9) == 0 ? undefined_quantity : static_cast<std::int32_t>(below(r, 15));
  }
  return events;
}

/// Whether a line fires on an event, by the definition in docs/selection.md.
bool fires(const line_entry& l, const seen_event& e) {
  const bool looks_at_quantities = l.ranges != 0;
  const bool calorimeter_lacks = (e.unknown >> 31) != 0;
  const bool asks_trigger = l.trigger_any != 0 || l.trigger_none != 0;
  const bool no_trigger_word = (e.unknown >> 30 & 1) != 0;
  if (asks_trigger && no_trigger_word && l.unknown == unknown_rule::refuse) return false;
  if (!no_trigger_word && l.trigger_any != 0 && (l.trigger_any & e.trigger) == 0) return false;
  if (!no_trigger_word && (l.trigger_none & e.trigger) != 0) return false;
  if (l.undecodable == 1 && !e.undecodable && !e.raw_fragment) return false;
  const bool overfull = (e.before.status & too_many_clusters) != 0 || e.hits > 512;
  if (l.overfull == 1) return overfull;
  if (overfull && (looks_at_quantities || l.vetoes_off != 0 || l.vetoes_on != 0)) return false;
  for (int n = 0; n < 30; ++n) {
    const bool fired = (e.vetoes >> n & 1) != 0;
    const bool lacks = (e.unknown >> n & 1) != 0;
    const bool wants_off = (l.vetoes_off >> n & 1) != 0;
    const bool wants_on = (l.vetoes_on >> n & 1) != 0;
    if ((wants_off || wants_on) && lacks && l.unknown == unknown_rule::refuse) return false;
    if (wants_off && fired) return false;
    if (wants_on && lacks && l.unknown == unknown_rule::keep) continue;
    if (wants_on && !fired) return false;
  }
  if (looks_at_quantities && calorimeter_lacks && l.unknown != unknown_rule::ignore)
    return l.unknown == unknown_rule::keep;
  for (int k = 0; k < l.ranges; ++k) {
    const std::int32_t value = e.before.quantity[index_of(l.range[k].what)];
    if (value == undefined_quantity) return false;
    if (value < l.range[k].from || value > l.range[k].to) return false;
  }
  return true;
}

TEST(decide, agrees_with_the_textbook_on_any_event_and_on_every_executor) {
  randomness r(5);
  thread_pool pool(3);
  std::uint64_t fired = 0;
  std::uint64_t silent = 0;
  for (int again = 0; again < 60; ++again) {
    const auto lines = random_lines(r);
    const auto events = random_events(40, r);
    const auto found = judge(serial_queue(), lines, events);
    for (std::size_t e = 0; e < events.size(); ++e) {
      const bool overfull =
          (events[e].before.status & too_many_clusters) != 0 || events[e].hits > 512;
      bool kept = overfull && std::none_of(lines.begin(), lines.end(),
                                           [](const line_entry& l) { return l.overfull == 1; });
      for (std::size_t n = 0; n < lines.size(); ++n) {
        const bool expected = fires(lines[n], events[e]);
        ASSERT_EQ((found[e].fired >> n & 1) != 0, expected) << "line " << n << " of event " << e;
        const bool left = expected && survives_prescale(run, spill, events[e].number, lines[n].id,
                                                        lines[n].prescale);
        ASSERT_EQ((found[e].kept_by >> n & 1) != 0, left);
        kept = kept || left;
        (expected ? fired : silent) += 1;
      }
      ASSERT_EQ(found[e].kept != 0, kept);
    }
    ASSERT_EQ(judge(serial_queue(32), lines, events), found);
    ASSERT_EQ(judge(shuffled_queue(32, 1), lines, events), found);
    ASSERT_EQ(judge(pool_queue(pool), lines, events), found);
    if (again < 5) { // this executor is slow
      ASSERT_EQ(judge(threaded_queue(3), lines, events), found);
    }
  }
  EXPECT_GT(fired, 1000U);
  EXPECT_GT(silent, 1000U);
}

} // namespace
} // namespace l3::test
