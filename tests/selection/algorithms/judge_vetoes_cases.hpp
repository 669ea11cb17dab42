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
  judged v{0, t.constants.dead_vetoes, 0};
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
  t.constants.dead_vetoes = below(r, 4) == 0 ? 1U << below(r, 32) : 0;
  // Few counters have many hits in each module.
  for (std::uint32_t v = 1 + below(r, below(r, 2) == 0 ? 2 : max_vetoes); v > 0; --v) {
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
  static bool beam_fires(const std::vector<made_hit>& known) {
    const veto_tables t = beam_counter();
    veto_event e = veto_event::with_boards(0, 1);
    e.known = known;
    auto queue = Executor::make();
    const std::vector<veto_event> events{e};
    const judged v = veto_stand(queue, t, events).judge()[0];
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

REGISTER_TYPED_TEST_SUITE_P(judging, says_what_every_choice_of_hits_says,
                            copes_with_hundreds_of_hits_in_each_module);

} // namespace l3::test
