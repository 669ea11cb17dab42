// SPDX-License-Identifier: Apache-2.0
// The cases of judge_vetoes. On every executor it must agree with a textbook that tries, for every
// counter, every choice of hits in neighbouring modules. A program that includes this header names
// the executors it tests.
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "tests/gpu/executors/on_executor.hpp"
#include "tests/selection/algorithms/veto_stand.hpp"

namespace l3::test {

using made_hit = hits::columns::value;
using judged = veto_bits::columns::value;

inline auto tied(const judged& v) { return std::tuple(v.fired, v.unknown, v.trigger); }

inline bool textbook_counts(const veto_entry& v, const made_hit& h) {
  return h.energy >= v.threshold && v.from <= h.time && h.time <= v.to;
}

/// The same event with the hits' times since its own time.
inline veto_event textbook_at_zero(veto_event e) {
  for (made_hit& h : e.known) h.time -= e.time;
  e.time = 0;
  return e;
}

/// Whether `modules` modules from `module` on have hits no two of which are farther apart than
/// v.within; the hits chosen in the modules before span `low` to `high`.
inline bool textbook_together(const veto_entry& v, const std::vector<made_hit>& all,
                              std::uint32_t module, std::uint32_t modules, std::int64_t low,
                              std::int64_t high) {
  if (modules == 0) return true;
  return std::any_of(all.begin(), all.end(), [&](const made_hit& h) {
    if (h.module != module || !textbook_counts(v, h)) return false;
    const std::int64_t l = std::min<std::int64_t>(low, h.time);
    const std::int64_t u = std::max<std::int64_t>(high, h.time);
    return u - l <= v.within && textbook_together(v, all, module + 1, modules - 1, l, u);
  });
}

inline judged textbook_judgement(const veto_tables& t, const veto_event& at_any_time) {
  const veto_event e = textbook_at_zero(at_any_time);
  judged v{0, 0, 0};
  for (std::uint32_t n = 0; n < t.vetoes.size(); ++n) {
    const veto_entry& veto = t.vetoes[n];
    const std::uint32_t side_by_side = std::max<std::uint32_t>(1, veto.neighbours);
    for (std::uint32_t first = 0; first + side_by_side <= veto.modules; ++first) {
      for (const made_hit& h : e.known) { // the hit in the first of these modules
        if (h.module == veto.first_module + first && textbook_counts(veto, h) &&
            textbook_together(veto, e.known, h.module + 1U, side_by_side - 1, h.time, h.time))
          v.fired |= 1U << n;
      }
    }
  }
  const std::set<std::uint16_t> present(e.boards.begin(), e.boards.end());
  for (std::uint16_t number = 0; number < t.kinds.size(); ++number) {
    if (!present.contains(number)) v.unknown |= t.board_vetoes[number];
  }
  for (std::size_t k = 0; k < e.boards.size(); ++k) {
    if (e.boards[k] == t.constants.trigger_board) v.trigger = e.triggers[k];
  }
  return v;
}

/// The three highest hits of each counter, by sorting all; of equal energies first the lower
/// module, then the earlier hit.
inline std::vector<veto_hit_summary> textbook_highest(const veto_tables& t, const veto_event& e) {
  std::vector<veto_hit_summary> all;
  for (std::size_t n = 0; n < t.vetoes.size(); ++n) {
    std::vector<std::tuple<std::int32_t, int, std::int32_t>> of_it;
    for (std::size_t i = 0; i < std::min<std::size_t>(e.known.size(), hits::max_hits); ++i) {
      const int module = int{e.known[i].module} - t.vetoes[n].first_module;
      if (module >= 0 && module < t.vetoes[n].modules)
        of_it.emplace_back(-e.known[i].energy, module, e.known[i].time);
    }
    std::sort(of_it.begin(), of_it.end());
    if (of_it.size() > 3) of_it.resize(3);
    for (const auto& [energy, module, time] : of_it)
      all.push_back(
          {-energy, time, static_cast<std::uint16_t>(module), static_cast<std::uint8_t>(n), 0});
  }
  return all;
}

inline veto_tables random_counters(randomness& r) {
  veto_tables t;
  t.add_boards(1 + below(r, 70), board_kind::sampling_125_mhz);
  for (std::uint32_t& vetoes : t.board_vetoes) vetoes = below(r, 2) == 0 ? 1U << below(r, 32) : 0;
  t.constants.trigger_board = static_cast<std::uint16_t>(below(r, 80));
  for (std::uint32_t v = 1 + below(r, max_vetoes); v > 0; --v) {
    veto_entry& veto = t.add_veto(1 + below(r, 7), 1);
    veto.threshold = static_cast<std::int32_t>(below(r, 40));
    veto.from = -static_cast<std::int32_t>(below(r, 60));
    veto.to = static_cast<std::int32_t>(below(r, 60));
    veto.neighbours = static_cast<std::uint16_t>(below(r, 5));
    veto.within = static_cast<std::int32_t>(below(r, 20)) - 1;
  }
  return t;
}

inline veto_event random_judged_event(const veto_tables& t, randomness& r) {
  veto_event e = veto_event::with_boards(0, static_cast<std::uint32_t>(t.kinds.size()));
  std::shuffle(e.boards.begin(), e.boards.end(), r);
  if (below(r, 2) == 0) e.boards.resize(below(r, static_cast<std::uint32_t>(e.boards.size() + 1)));
  if (!e.boards.empty() && below(r, 2) == 0) e.boards.back() = board_signals::unread;
  e.triggers.resize(e.boards.size());
  for (std::uint16_t& trigger : e.triggers) trigger = static_cast<std::uint16_t>(below(r, 0x4000));
  e.time = below(r, 2) == 0 ? 0 : static_cast<std::int32_t>(below(r, 101)) - 50;
  const std::uint32_t n = below(r, 60);
  for (std::uint32_t i = 0; i < n; ++i)
    e.known.push_back(
        {static_cast<std::int32_t>(below(r, 100)), static_cast<std::int32_t>(below(r, 160)) - 80, 0,
         static_cast<std::uint16_t>(below(r, static_cast<std::uint32_t>(t.modules.size() + 1))),
         1});
  return e;
}

template <class Executor>
class judging : public on_executor<Executor> {
protected:
  static std::vector<judged> judge(const veto_tables& t, const std::vector<veto_event>& events) {
    auto queue = Executor::make();
    return veto_stand(queue, t, events).judge();
  }
  /// A counter of sixteen modules in the beam, which needs three neighbours within 1280, behind
  /// another counter.
  static veto_tables beam_counter() {
    veto_tables t;
    t.add_boards(1, board_kind::sampling_500_mhz);
    t.add_veto(5, 1).threshold = 1'000'000;
    veto_entry& veto = t.add_veto(16, 1);
    veto.threshold = 2500;
    veto.from = -960;
    veto.to = 960;
    veto.neighbours = 3;
    veto.within = 1280;
    return t;
  }
  static bool beam_fires(const std::vector<made_hit>& known, std::uint16_t neighbours = 3) {
    veto_tables t = beam_counter();
    t.vetoes[1].neighbours = neighbours;
    veto_event e = veto_event::with_boards(0, 1);
    e.known = known;
    const judged v = judge(t, {e})[0];
    EXPECT_EQ(v.fired & ~2U, 0U);
    return v.fired == 2;
  }
  static made_hit at(std::uint16_t module, std::int32_t time, std::int32_t energy = 3000) {
    return {energy, time, 0, module, 1};
  }
};
TYPED_TEST_SUITE_P(judging);

TYPED_TEST_P(judging, says_what_every_choice_of_hits_says) {
  randomness r(1);
  for (int again = 0; again < (TypeParam::slow ? 3 : TypeParam::many ? 300 : 20); ++again) {
    const veto_tables t = random_counters(r);
    std::vector<veto_event> events;
    for (int e = 0; e < 40; ++e) events.push_back(random_judged_event(t, r));
    auto queue = TypeParam::make();
    veto_stand stand(queue, t, events);
    const auto found = stand.judge();
    for (std::size_t e = 0; e < events.size(); ++e) {
      ASSERT_EQ(tied(found[e]), tied(textbook_judgement(t, events[e]))) << again << ", event " << e;
      ASSERT_EQ(stand.highest()[e], textbook_highest(t, events[e])) << again << ", event " << e;
    }
  }
}

TYPED_TEST_P(judging, takes_thresholds_and_windows_with_their_ends) {
  veto_tables t;
  t.add_boards(1, board_kind::sampling_125_mhz);
  t.add_veto(3, 1); // no module of it has hits
  veto_entry& veto = t.add_veto(2, 1);
  veto.threshold = 1000;
  veto.from = -15;
  veto.to = 40;
  const auto fires = [&](const made_hit& hit, std::int32_t event_time = 0) {
    veto_event e = veto_event::with_boards(0, 1);
    e.known = {hit};
    e.time = event_time;
    return this->judge(t, {e})[0].fired == 2;
  };
  t.vetoes[0].threshold = 0x7fffffff;
  for (const std::uint16_t module : {3, 4}) {
    EXPECT_TRUE(fires(this->at(module, -15, 1000)));
    EXPECT_TRUE(fires(this->at(module, 40, 1000)));
    EXPECT_FALSE(fires(this->at(module, 0, 999)));
    EXPECT_FALSE(fires(this->at(module, -16, 1000)));
    EXPECT_FALSE(fires(this->at(module, 41, 1000)));
    EXPECT_TRUE(fires(this->at(module, 41, 1000), 1));
    EXPECT_FALSE(fires(this->at(module, -15, 1000), 1));
    EXPECT_TRUE(fires(this->at(module, -2063, 1000), -2048));
  }
  EXPECT_FALSE(fires(this->at(2, 0, 5000)));
  EXPECT_FALSE(fires(this->at(5, 0, 5000)));
  EXPECT_FALSE(fires(this->at(hits::no_module, 0, 5000)));
}

TYPED_TEST_P(judging, wants_neighbours_in_the_beam) {
  const auto at = [](auto... values) { return judging<TypeParam>::at(values...); };
  EXPECT_TRUE(this->beam_fires({at(5, -400), at(6, 880), at(7, 640)}));
  EXPECT_TRUE(this->beam_fires({at(18, 640), at(19, -640), at(20, 640)}));
  EXPECT_TRUE(this->beam_fires({at(9, -900), at(9, 700), at(10, 0), at(10, 800), at(11, 900)}));
  EXPECT_FALSE(this->beam_fires({at(5, 0), at(6, 0)}));
  EXPECT_FALSE(this->beam_fires({at(5, 0), at(6, 0), at(8, 0)}));
  EXPECT_FALSE(this->beam_fires({at(5, -641), at(6, 0), at(7, 640)})); // two and two are near
  EXPECT_FALSE(this->beam_fires({at(5, 0), at(6, 0), at(7, 0, 2499)}));
  EXPECT_FALSE(this->beam_fires({at(5, 0), at(6, 0), at(7, 961)}));
  EXPECT_FALSE(this->beam_fires({at(4, 0), at(5, 0), at(6, 0)})); // the first is another counter's
  EXPECT_FALSE(this->beam_fires({at(19, 0), at(20, 0), at(21, 0)})); // there is no module 21
  EXPECT_FALSE(this->beam_fires({at(5, 0), at(5, 0), at(5, 0)}));
  std::vector<made_hit> in_all;
  for (std::uint16_t m = 5; m < 21; ++m) in_all.push_back(at(m, 0));
  EXPECT_TRUE(this->beam_fires(in_all, 16));
  EXPECT_FALSE(this->beam_fires(in_all, 17));
  in_all[8].energy = 0;
  EXPECT_TRUE(this->beam_fires(in_all, 8));
  EXPECT_FALSE(this->beam_fires(in_all, 9));
}

TYPED_TEST_P(judging, copes_with_hundreds_of_hits_in_each_module) {
  const auto at = [](auto... values) { return judging<TypeParam>::at(values...); };
  // Three modules have hits in turn, but never all three within 1280.
  std::vector<made_hit> known;
  for (std::uint16_t m = 8; m < 11; ++m) {
    const std::int32_t begin = m == 8 ? -960 : m == 9 ? -300 : 322;
    for (std::int32_t i = 0; i < 170; ++i) known.push_back(at(m, begin + i % 2));
  }
  EXPECT_FALSE(this->beam_fires(known));
  known.push_back(at(9, 0));
  EXPECT_FALSE(this->beam_fires(known));
  known.push_back(at(8, -958));
  ASSERT_EQ(known.size(), hits::max_hits);
  EXPECT_TRUE(this->beam_fires(known));
  // The hit beyond the last row does not exist and cannot complete a coincidence.
  known.push_back(known.back());
  known[hits::max_hits - 1] = at(9, 0);
  EXPECT_FALSE(this->beam_fires(known));
}

TYPED_TEST_P(judging, says_whom_it_cannot_ask) {
  veto_tables t;
  t.add_boards(40, board_kind::sampling_125_mhz);
  t.board_vetoes[0] = 1;
  t.board_vetoes[5] = 2 | calorimeter_unknown;
  t.board_vetoes[31] = 4;
  t.board_vetoes[32] = 8;
  t.board_vetoes[39] = 16;
  t.constants.trigger_board = 32;
  const auto without = [&](std::vector<std::uint16_t> missing, bool unread) {
    veto_event e = veto_event::with_boards(0, 40);
    e.triggers.assign(40, 0x3001);
    for (const std::uint16_t n : missing) e.boards[n] = unread ? board_signals::unread : 7;
    const judged v = this->judge(t, {e})[0];
    return std::tuple(v.unknown, v.trigger);
  };
  for (const bool unread : {false, true}) {
    EXPECT_EQ(without({}, unread), std::tuple(0U, 0x3001));
    EXPECT_EQ(without({0, 5}, unread), std::tuple(3U | calorimeter_unknown, 0x3001));
    EXPECT_EQ(without({31, 32, 39}, unread), std::tuple(28U, 0));
    EXPECT_EQ(without({1, 2, 3}, unread), std::tuple(0U, 0x3001));
  }
  t.constants.trigger_board = board_signals::unread; // the readout has no trigger board
  EXPECT_EQ(without({31, 39}, true), std::tuple(20U, 0));
  const judged nothing = this->judge(t, {veto_event{}})[0];
  EXPECT_EQ(nothing.unknown, 31U | calorimeter_unknown);
  EXPECT_EQ(nothing.trigger, 0);
  t.constants.dead_vetoes = 1U << 9; // all inputs of counter 9 are dead, whatever boards are there
  EXPECT_EQ(without({}, false), std::tuple(1U << 9, 0));
  EXPECT_EQ(without({0}, false), std::tuple(1U << 9 | 1U, 0));
}

TYPED_TEST_P(judging, tells_a_broken_promise) {
  veto_tables t = this->beam_counter();
  t.vetoes[0].threshold = 10;
  t.board_vetoes[0] = 3;
  veto_event e = veto_event::with_boards(0, 1);
  e.known = {this->at(0, 0, 10), this->at(1, 0, 9), this->at(7, 0)};
  const std::vector<veto_event> events{e};
  auto queue = TypeParam::make();
  const veto_stand stand(queue, t, events);
  high_hits::list highest;
  highest.count = 3;
  highest.hit[0] = {10, 0, 0, 0, 0};
  highest.hit[1] = {9, 0, 1, 0, 0};
  highest.hit[2] = {3000, 0, 2, 1, 0};
  const auto promise = [&](const judged& v) {
    const char* const broken = stand.promise_of_judging(v, highest);
    return std::string(broken == nullptr ? "" : broken);
  };
  EXPECT_EQ(promise({1, 3, 0x3fff}), "");
  EXPECT_EQ(promise({3, 0, 0}), "");
  EXPECT_EQ(promise({5, 0, 0}), "a counter fired without a hit that counts");
  EXPECT_EQ(promise({2, 0, 0}), "a hit that counts did not fire its counter");
  EXPECT_EQ(promise({1, 4, 0}), "a counter without boards is unknown");
  EXPECT_EQ(promise({1, 0, 0x4000}), "the level-1 bits are more than a word holds");
  const std::string wrong_list = "the list of high hits is not that of the highest of each counter";
  highest.hit[1].energy = 10;
  EXPECT_EQ(promise({1, 0, 0}), wrong_list);
  highest.hit[1].energy = 9;
  highest.count = 2;
  EXPECT_EQ(promise({1, 0, 0}), wrong_list);
}

REGISTER_TYPED_TEST_SUITE_P(judging, says_what_every_choice_of_hits_says,
                            takes_thresholds_and_windows_with_their_ends,
                            wants_neighbours_in_the_beam,
                            copes_with_hundreds_of_hits_in_each_module, says_whom_it_cannot_ask,
                            tells_a_broken_promise);

} // namespace l3::test
