// SPDX-License-Identifier: Apache-2.0
// The cases of match_ends. On every executor it must agree with a textbook, which runs, module by
// module, a double loop over the pulses of both ends. A program that includes this header names the
// executors it tests.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "tests/gpu/executors/on_executor.hpp"
#include "tests/selection/algorithms/veto_stand.hpp"

namespace l3::test {

struct textbook_pulse {
  std::int64_t time = 0;
  std::int64_t energy = 0;
  [[nodiscard]] bool operator<(const textbook_pulse& o) const {
    return std::tie(time, energy) < std::tie(o.time, o.energy);
  }
};

inline std::int64_t floor_division(std::int64_t a, std::int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

inline std::vector<textbook_pulse> textbook_end(const veto_tables& t, const veto_event& e,
                                                std::uint32_t module, std::uint32_t end) {
  std::vector<textbook_pulse> all;
  for (const veto_pulse& p : e.pulses) {
    const std::uint32_t number = e.boards[p.board];
    if (number >= t.kinds.size()) continue;
    const bool fast = t.kinds[number] == board_kind::sampling_500_mhz;
    const std::size_t place = 16 * number + (fast ? p.row / 4 : p.row);
    if (place >= t.inputs.size()) continue;
    const input_entry& input = t.inputs[place];
    if (input.kind != input_kind::veto || input.index != 2 * module + end) continue;
    const std::int64_t energy = floor_division(std::int64_t{p.sum} * input.gain, 65536);
    const std::int64_t time = p.time * (std::int64_t{1} << input.time_shift) - input.time;
    if (energy > 0)
      all.push_back({std::clamp<std::int64_t>(time, -524288, 524287),
                     std::min<std::int64_t>(energy, 268435455)});
  }
  std::sort(all.begin(), all.end());
  return all;
}

struct textbook_hit {
  std::int64_t earliest = 0;
  std::size_t up = 0; ///< rank of its pulse at end 0; behind all others without one
  std::size_t down = 0;
  hits::columns::value hit;
};

inline std::vector<textbook_hit> textbook_module(const veto_tables& t, const veto_event& e,
                                                 std::uint32_t module) {
  const module_entry& entry = t.modules[module];
  const veto_entry& veto = t.vetoes[entry.veto];
  const auto ups = textbook_end(t, e, module, 0);
  const auto downs = textbook_end(t, e, module, 1);
  const std::int64_t end_of_module = std::min(veto.half_length, 32767);
  const auto z_of = [&](const textbook_pulse& x, const textbook_pulse& y) {
    return std::clamp(floor_division((x.time - y.time) * veto.z_of_time, 65536), -end_of_module,
                      end_of_module);
  };
  const auto is_pair = [&](const textbook_pulse& x, const textbook_pulse& y) {
    return entry.ends == 2 && std::abs(x.time - y.time) <= veto.tolerance;
  };
  const auto seen_by_one = [&](const textbook_pulse& p, std::uint32_t end) {
    const bool other_is_dead = entry.ends == 2 && (entry.alive & (end == 0 ? 2 : 1)) == 0;
    return hits::columns::value{static_cast<std::int32_t>(p.energy * (other_is_dead ? 2 : 1)),
                                static_cast<std::int32_t>(p.time), 0,
                                static_cast<std::uint16_t>(module),
                                static_cast<std::uint8_t>(end + 1)};
  };

  std::vector<textbook_hit> all;
  std::vector<bool> used(downs.size());
  for (std::size_t u = 0; u < ups.size(); ++u) {
    std::size_t d = 0;
    while (d < downs.size() && (used[d] || !is_pair(ups[u], downs[d]))) ++d;
    if (d == downs.size()) {
      all.push_back({ups[u].time, u, downs.size(), seen_by_one(ups[u], 0)});
      continue;
    }
    used[d] = true;
    const std::int64_t z = z_of(ups[u], downs[d]);
    std::int64_t far = 65536;  // factor for the light that came the longer way
    std::int64_t near = 65536; // factor for the other light
    if (veto.half_length != 0 && !t.attenuation.empty()) {
      const auto step = std::min<std::size_t>(static_cast<std::size_t>(std::abs(z) / 16),
                                              t.attenuation.size() - 1);
      far = t.attenuation[step].grown;
      near = t.attenuation[step].shrunk;
    }
    const std::int64_t energy = floor_division(
        ups[u].energy * (z < 0 ? near : far) + downs[d].energy * (z < 0 ? far : near), 65536);
    all.push_back({std::min(ups[u].time, downs[d].time),
                   u,
                   d,
                   {static_cast<std::int32_t>(std::min<std::int64_t>(energy, 2147483647)),
                    static_cast<std::int32_t>(floor_division(ups[u].time + downs[d].time, 2)),
                    static_cast<std::int16_t>(z), static_cast<std::uint16_t>(module), 3}});
  }
  for (std::size_t d = 0; d < downs.size(); ++d) {
    if (!used[d]) all.push_back({downs[d].time, ups.size(), d, seen_by_one(downs[d], 1)});
  }
  std::sort(all.begin(), all.end(), [](const textbook_hit& x, const textbook_hit& y) {
    return std::tie(x.earliest, x.up, x.down) < std::tie(y.earliest, y.up, y.down);
  });
  return all;
}

inline std::vector<hits::columns::value> textbook_hits(const veto_tables& t, const veto_event& e) {
  std::vector<hits::columns::value> all;
  for (std::uint32_t m = 0; m < t.modules.size(); ++m) {
    for (const textbook_hit& h : textbook_module(t, e, m)) all.push_back(h.hit);
  }
  return all;
}

inline auto tied(const hits::columns::value& h) {
  return std::tuple(h.module, h.time, h.energy, h.z, h.ends);
}
inline hits::columns::value poisoned_hit() {
  hits::columns::value h;
  std::memset(static_cast<void*>(&h), 0xa5, sizeof h);
  return h;
}

inline void expect_hits(const found_hits& found,
                        const std::vector<hits::columns::value>& expected) {
  ASSERT_EQ(found.found, expected.size());
  for (std::uint32_t i = 0; i < hits::max_hits; ++i) {
    const auto& row = i < expected.size() ? expected[i] : poisoned_hit();
    ASSERT_EQ(tied(found.rows[i]), tied(row)) << "hit " << i << " of " << expected.size();
  }
}

/// All kinds of modules, in which many pulses coincide.
inline veto_tables random_veto_tables(randomness& r) {
  veto_tables t;
  t.add_boards(1 + below(r, 4), board_kind::sampling_125_mhz);
  t.add_boards(below(r, 3), board_kind::sampling_500_mhz);
  const std::int32_t tolerances[] = {0, 1, 7, 300};
  const std::int32_t half_lengths[] = {0, 5, 100, 2750, 100000};
  const std::int32_t z_factors[] = {46334, -46334, 65536 * 9, 1};
  for (std::uint32_t v = 1 + below(r, 4); v > 0; --v) {
    const std::uint8_t ends = below(r, 3) == 0 ? 1 : 2;
    veto_entry& veto = t.add_veto(1 + below(r, 5), ends);
    veto.tolerance = tolerances[below(r, 4)];
    veto.half_length = half_lengths[below(r, 5)];
    veto.z_of_time = z_factors[below(r, 4)];
  }
  for (module_entry& m : t.modules) {
    if (m.ends == 2) m.alive = static_cast<std::uint8_t>(below(r, 4));
  }
  for (std::uint32_t i = below(r, 20); i > 0; --i)
    t.attenuation.push_back({65536 + below(r, 1U << 18), below(r, 1U << 16)});
  for (std::uint32_t i = 0; i < t.inputs.size(); ++i) {
    if (below(r, 8) == 0) continue;
    const std::uint32_t module = below(r, static_cast<std::uint32_t>(t.modules.size()));
    input_entry& input = t.connect(i / 16, i % 16, module, below(r, t.modules[module].ends));
    if (below(r, 10) == 0) input.kind = input_kind::crystal;
    input.gain = static_cast<std::int32_t>(below(r, 1U << 18)) - 1000;
    input.time = static_cast<std::int32_t>(below(r, 300)) - 100;
    input.time_shift = static_cast<std::uint8_t>(2 * below(r, 2));
    if (below(r, 20) == 0)
      input.index = static_cast<std::uint16_t>(2 * t.modules.size() + below(r, 90));
  }
  if (below(r, 4) == 0) t.inputs.resize(t.inputs.size() - below(r, 16)); // part of a board
  return t;
}

inline veto_event random_veto_event(const veto_tables& t, randomness& r) {
  veto_event e = veto_event::with_boards(0, static_cast<std::uint32_t>(t.kinds.size()));
  for (std::uint16_t& number : e.boards) {
    if (below(r, 10) == 0) number = board_signals::unread;
    if (below(r, 20) == 0) number = static_cast<std::uint16_t>(t.kinds.size() + below(r, 4000));
  }
  std::shuffle(e.boards.begin(), e.boards.end(), r);
  const std::uint32_t one_in = 1 + below(r, 10);
  const std::uint32_t times = 1 + below(r, 400);
  for (std::uint32_t b = 0; b < e.boards.size(); ++b) {
    for (std::uint32_t row = 0; row < 16; ++row) {
      if (below(r, one_in) == 0)
        e.pulses.push_back({b, row, static_cast<std::int32_t>(below(r, 4000)) - 500,
                            static_cast<std::uint16_t>(below(r, times))});
    }
  }
  return e;
}

template <class Executor>
class matching : public on_executor<Executor> {
protected:
  static std::vector<found_hits> match(const veto_tables& t,
                                       const std::vector<veto_event>& events) {
    auto queue = Executor::make();
    return veto_stand(queue, t, events).match();
  }
  static void expect_textbook(const veto_tables& t, const std::vector<veto_event>& events) {
    const auto found = match(t, events);
    for (std::size_t e = 0; e < events.size(); ++e) {
      expect_hits(found[e], textbook_hits(t, events[e]));
      if (testing::Test::HasFatalFailure()) FAIL() << "event " << e;
    }
  }
  /// One event with every row of every board lit, on `modules` modules with `ends` ends.
  static std::pair<veto_tables, veto_event> flooded(std::uint32_t boards, std::uint32_t modules,
                                                    std::uint8_t ends, randomness& r) {
    veto_tables t;
    t.add_boards(boards, board_kind::sampling_125_mhz);
    veto_entry& veto = t.add_veto(modules, ends);
    veto.tolerance = 20;
    veto.half_length = 1000;
    veto.z_of_time = 46334;
    veto_event e = veto_event::with_boards(0, boards);
    for (std::uint32_t i = 0; i < 16 * boards; ++i) {
      t.connect(i / 16, i % 16, i % modules, below(r, ends));
      e.pulses.push_back({i / 16, i % 16, static_cast<std::int32_t>(1 + below(r, 100)),
                          static_cast<std::uint16_t>(below(r, 10000))});
    }
    return {t, e};
  }
};
TYPED_TEST_SUITE_P(matching);

TYPED_TEST_P(matching, finds_what_a_double_loop_finds) {
  randomness r(1);
  for (int again = 0; again < (TypeParam::slow ? 4 : TypeParam::many ? 600 : 20); ++again) {
    const veto_tables t = random_veto_tables(r);
    std::vector<veto_event> events;
    for (int e = 0; e < 20; ++e) events.push_back(random_veto_event(t, r));
    this->expect_textbook(t, events);
    if (this->HasFatalFailure()) FAIL() << "tables " << again;
  }
}

TYPED_TEST_P(matching, tells_place_and_energy_of_what_both_ends_saw) {
  // A barrel of 5.5 m, with light at 181 mm/ns and an attenuation length of 2.7 m: a hit of 100 MeV
  // has 100 MeV, wherever it is.
  constexpr double length = 2750;
  constexpr double attenuation_length = 2700;
  constexpr double speed = 181.0 / 128; // mm in 1/128 ns
  veto_tables t;
  t.add_boards(1, board_kind::sampling_125_mhz);
  veto_entry& veto = t.add_veto(1, 2);
  veto.tolerance = 4200;
  veto.half_length = static_cast<std::int32_t>(length);
  veto.z_of_time = static_cast<std::int32_t>(std::lround(speed / 2 * 65536));
  for (int k = 0; k <= length / attenuation_step; ++k) {
    const double growth = std::exp((k + 0.5) * attenuation_step / attenuation_length) * 65536;
    t.attenuation.push_back(
        {static_cast<std::uint32_t>(growth), static_cast<std::uint32_t>(65536.0 * 65536 / growth)});
  }
  t.connect(0, 0, 0, 0).time = 5000;
  t.connect(0, 1, 0, 1).time = 5000;
  for (const double z : {-2700.0, -1000.0, -20.0, 0.0, 500.0, 2700.0}) {
    veto_event e = veto_event::with_boards(0, 1);
    const auto add = [&](std::uint32_t channel, double distance) {
      const double energy = 50000 * std::exp(-distance / attenuation_length);
      const double time = 5000 + 640 + distance / speed;
      e.pulses.push_back({0, channel, static_cast<std::int32_t>(energy),
                          static_cast<std::uint16_t>(std::lround(time))});
    };
    add(0, z); // the larger z, the farther from the upstream end
    add(1, -z);
    const auto found = this->match(t, {e});
    ASSERT_EQ(found[0].found, 1U) << z;
    const hits::columns::value& hit = found[0].rows[0];
    EXPECT_EQ(hit.ends, 3);
    EXPECT_NEAR(hit.z, z, 2);
    EXPECT_NEAR(hit.time, 640, 1);
    EXPECT_NEAR(hit.energy, 100000, 400) << z;
  }
}

TYPED_TEST_P(matching, keeps_what_keys_can_hold) {
  veto_tables t;
  t.add_boards(1, board_kind::sampling_125_mhz);
  veto_entry& veto = t.add_veto(2, 2);
  veto.tolerance = 0x7fffffff;
  veto.half_length = 0x7fffffff;
  veto.z_of_time = 0x7fffffff; // every place but the middle is beyond the range of a hit's z …
  t.attenuation.push_back({0xffffffff, 0xffffffff});
  t.connect(0, 0, 0, 0).time = 0x40000000;
  t.connect(0, 1, 0, 1).time = -0x40000000;
  t.connect(0, 2, 1, 0).gain = 0x7fffffff;
  t.connect(0, 3, 1, 1).gain = 0x7fffffff;
  veto_event e = veto_event::with_boards(0, 1);
  e.pulses = {{0, 0, 1, 65535}, {0, 1, 1, 0}, {0, 2, 65535, 7}, {0, 3, 65535, 7}};
  const auto found = this->match(t, {e});
  expect_hits(found[0], textbook_hits(t, e));
  EXPECT_EQ(found[0].rows[0].time, -1) << "of the earliest and the latest time";
  EXPECT_EQ(found[0].rows[0].z, -32767) << "… and is put at its end";
  EXPECT_EQ(found[0].rows[1].energy, 0x7fffffff);
}

TYPED_TEST_P(matching, copes_with_a_flood) {
  randomness r(2);
  for (const std::uint32_t boards : {31U, 32U, 33U, 127U, 128U}) {
    for (const std::uint32_t modules : {1U, 100U}) {
      if (TypeParam::slow && modules != 1) continue;
      for (const std::uint8_t ends : {1, 2}) {
        auto [t, e] = this->flooded(boards, modules, ends, r);
        // The kernel must not touch the rows of the events before and behind.
        const veto_event nothing = veto_event::with_boards(0, boards);
        this->expect_textbook(t, {nothing, e, nothing});
        if (this->HasFatalFailure()) FAIL() << boards << " boards, " << modules << " modules";
        for (veto_pulse& p : e.pulses) p = {p.board, p.row, 3, 4}; // equal pulses
        this->expect_textbook(t, {nothing, e, nothing});
        if (this->HasFatalFailure()) FAIL() << boards << " boards, equal pulses";
      }
    }
  }
}

TYPED_TEST_P(matching, gives_up_beyond_its_room) {
  randomness r(3);
  auto [t, e] = this->flooded(129, 7, 2, r);
  e.pulses.resize(match_ends::max_pulses + 1);
  const veto_event nothing = veto_event::with_boards(0, 129);
  const auto found = this->match(t, {nothing, e, nothing});
  expect_hits(found[0], {});
  EXPECT_EQ(found[1].found, match_ends::max_pulses + 1);
  for (const auto& row : found[1].rows)
    ASSERT_EQ(tied(row), tied(hits::columns::value{0, 0, 0, hits::no_module, 0}));
  expect_hits(found[2], {});
}

REGISTER_TYPED_TEST_SUITE_P(matching, finds_what_a_double_loop_finds,
                            tells_place_and_energy_of_what_both_ends_saw, keeps_what_keys_can_hold,
                            copes_with_a_flood, gives_up_beyond_its_room);

} // namespace l3::test
