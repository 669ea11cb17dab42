// SPDX-License-Identifier: Apache-2.0
// The cases of find_clusters, which must pass on every executor. A program that includes this
// header names the executors it tests, and the number of random events for each.
#pragma once

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "selection/algorithms/find_clusters.hpp"
#include "tests/gpu/executors/on_executor.hpp"
#include "tests/selection/algorithms/clusters_textbook.hpp"

namespace l3::test {

/// Runs the kernel and returns its output for the events, after checking its promises and that it
/// wrote no other rows.
template <class Queue>
std::vector<textbook_calorimeter> run_find_clusters(Queue& queue,
                                                    const made_calorimeter& calorimeter,
                                                    const std::vector<pulse_event>& events) {
  const auto n = static_cast<std::uint32_t>(events.size());
  const made_pulses<Queue> made(queue, events);
  const slot_rows<clusters, Queue> found(queue, n * clusters::max_clusters);
  const slot_rows<l3::calorimeter, Queue> all(queue, n);
  lender<Queue> lent(queue);
  const selection_frame frame{made.there(), lent.lend(calorimeter.tables()), {}};
  queue.run(find_clusters{}, n, frame, pulses::columns::const_view(made.rows().there()),
            board_signals::columns::const_view(made.signals().there()), found.there(), all.there());
  found.fetch();
  all.fetch();
  const selection_frame here{made.host(), calorimeter.tables(), {}};
  const char* const broken = find_clusters::broken_promise(
      here, made.rows().host(), made.signals().host(), found.host(), all.host());
  EXPECT_STREQ(broken == nullptr ? "" : broken, "");

  std::vector<textbook_calorimeter> results;
  std::int32_t untouched = 0;
  std::memset(&untouched, slot_rows<clusters, Queue>::poison, sizeof untouched);
  for (std::uint32_t e = 0; e < n; ++e) {
    const auto whole = all.host()[e];
    textbook_calorimeter& result = results.emplace_back();
    result.energy = whole.energy;
    result.time = whole.time;
    result.crystals = whole.crystals;
    result.found = whole.clusters;
    for (std::uint32_t k = 0; k < clusters::max_clusters; ++k) {
      const auto one = found.host()[clusters::max_clusters * e + k];
      if (k < result.found) {
        result.clusters.push_back({one.energy, one.time, one.x, one.y, one.crystals});
      } else {
        EXPECT_EQ(one.energy, untouched) << "the kernel wrote a row beyond its clusters";
      }
    }
  }
  return results;
}

template <class Executor>
class clustering : public on_executor<Executor> {
protected:
  /// Expects the clusters of the textbook, and returns them.
  static std::vector<textbook_calorimeter> expect(const made_calorimeter& calorimeter,
                                                  const std::vector<pulse_event>& events) {
    auto queue = Executor::make();
    std::vector<textbook_calorimeter> expected;
    for (const pulse_event& e : events) expected.push_back(textbook_clusters(e, calorimeter));
    const auto found = run_find_clusters(queue, calorimeter, events);
    for (std::size_t e = 0; e < events.size(); ++e)
      EXPECT_EQ(found[e], expected[e]) << "event " << e << " of " << expected[e].crystals;
    return expected;
  }
};
TYPED_TEST_SUITE_P(clustering);

/// Draws a sparse, clustered or dense event; some crystals are too low or out of time, and some
/// boards have no crystals.
inline pulse_event draw_event(const made_calorimeter& calorimeter, randomness& r) {
  pulse_event event;
  const auto light_at_random = [&](std::uint32_t crystal) {
    const input_entry& input = calorimeter.inputs[crystal];
    const auto sum =
        static_cast<std::int32_t>(below(r, 3) == 0 ? below(r, 12000) : below(r, 1U << 20));
    const auto time = static_cast<std::uint16_t>(
        std::clamp((input.time + static_cast<std::int32_t>(below(r, 4400)) - 2200) / 4, 0, 0xffff));
    add_pulse(event, static_cast<std::uint16_t>(crystal / 16), crystal % 16, sum, time);
  };
  for (std::uint32_t k = below(r, 20); k > 0; --k) light_at_random(below(r, calorimeter.size()));
  for (std::uint32_t heap = below(r, 8); heap > 0; --heap) {
    const crystal_place& middle = calorimeter.places()[below(r, calorimeter.size())];
    const double radius = 20 + below(r, 100);
    for (std::uint32_t k = 1 + below(r, 12); k > 0; --k) {
      const auto off = [&] { return radius * (below(r, 2001) / 1000.0 - 1); };
      const std::uint32_t crystal = calorimeter.at(middle.x + off(), middle.y + off());
      if (crystal < calorimeter.size()) light_at_random(crystal);
    }
  }
  constexpr std::uint32_t dense = 100; // one event in so many is dense
  if (below(r, dense) == 0) {
    const std::uint32_t one_of = 2 + below(r, 50);
    for (std::uint32_t c = 0; c < calorimeter.size(); ++c) {
      if (below(r, one_of) == 0) light_at_random(c);
    }
  }
  const auto veto = static_cast<std::uint16_t>(calorimeter.boards() + below(r, 4));
  add_pulse(event, veto, below(r, 16), 1 << 20, 5000);
  add_pulse(event, board_signals::unread, below(r, 16), 1 << 20, 5000);
  add_pulse(event, 0, 15, 1 << 20, 5000).lit |= 1; // whatever row 0 holds
  std::shuffle(event.begin(), event.end(), r);
  return event;
}

TYPED_TEST_P(clustering, finds_what_all_pairs_give_in_random_events) {
  made_calorimeter calorimeter;
  randomness r(1);
  constexpr std::uint32_t batch = 250;
  for (std::uint32_t done = 0; done < TypeParam::random_events; done += batch) {
    calorimeter.draw(r);
    std::vector<pulse_event> events;
    for (std::uint32_t e = 0; e < batch; ++e) events.push_back(draw_event(calorimeter, r));
    this->expect(calorimeter, events);
    if (this->HasFailure()) FAIL() << "after " << done;
  }
}

/// Lights every crystal for which `is_lit`, with different energies and times.
inline pulse_event light_where(const made_calorimeter& calorimeter,
                               const std::function<bool(const crystal_place&)>& is_lit) {
  pulse_event event;
  for (std::uint32_t c = 0; c < calorimeter.size(); ++c) {
    if (!is_lit(calorimeter.places()[c])) continue;
    light(event, c, static_cast<std::int32_t>(3000 + 7919 * c % 100000),
          static_cast<std::uint16_t>(31 * c % 500));
  }
  return event;
}

/// The column or row in the grid of small crystals, from 0; negative or larger outside of it.
inline int grid(double x) { return static_cast<int>(std::floor(x / 25 + 24)); }

TYPED_TEST_P(clustering, finds_what_all_pairs_give_in_patterns) {
  const made_calorimeter calorimeter;
  std::vector<pulse_event> events;
  const auto add = [&](const std::function<bool(const crystal_place&)>& is_lit) {
    events.push_back(light_where(calorimeter, is_lit));
  };
  add([](const crystal_place&) { return true; });
  for (const int period : {2, 3, 4, 5}) { // checkerboards
    add([&](const crystal_place& p) { return (grid(p.x) + grid(p.y)) % period == 0; });
    add([&](const crystal_place& p) { return grid(p.x) % period == 0 && grid(p.y) % period == 0; });
  }
  for (const double width : {15.0, 25.0, 60.0}) { // rings in rings
    add([&](const crystal_place& p) {
      return std::fmod(std::sqrt(p.x * p.x + p.y * p.y), 110 + width) < width;
    });
  }
  add([](const crystal_place& p) { // a snake: rows joined at alternating ends
    const int turn = grid(p.y) / 3 % 2 == 0 ? 47 : 0;
    return p.size < 30 && (grid(p.y) % 3 == 0 || grid(p.x) == turn);
  });
  add([](const crystal_place& p) { // the same with every second crystal
    const int turn = grid(p.y) / 3 % 2 == 0 ? 46 : 0;
    return p.size < 30 && grid(p.x) % 2 == 0 && (grid(p.y) % 3 == 0 || grid(p.x) == turn);
  });
  add([](const crystal_place& p) { return p.size > 30; });
  add([](const crystal_place& p) { return std::abs(p.x - p.y) < 1; });
  const auto expected = this->expect(calorimeter, events);
  EXPECT_EQ(expected[0].crystals, 2716U);
  EXPECT_EQ(expected[0].found, 1U);
}

TYPED_TEST_P(clustering, joins_all_crystals_of_a_full_calorimeter) {
  const made_calorimeter calorimeter;
  const auto full = [&](const std::function<std::uint16_t(std::uint32_t)>& time) {
    pulse_event event;
    for (std::uint32_t c = 0; c < calorimeter.size(); ++c)
      light(event, c, static_cast<std::int32_t>(3000 + 7919 * c % 100000), time(c));
    return event;
  };
  const auto expected =
      this->expect(calorimeter, {full([](std::uint32_t) { return 500; }), // of one light pulse
                                 full([](std::uint32_t c) { return c % 3 == 0 ? 1600 : 500; })});
  EXPECT_EQ(expected[0].crystals, 2716U);
  EXPECT_EQ(expected[0].found, 1U);
  EXPECT_LT(expected[1].crystals, 2716U) << "some are out of time";
}

TYPED_TEST_P(clustering, counts_what_does_not_fit) {
  const made_calorimeter calorimeter;
  pulse_event pairs;
  std::uint32_t lit = 0;
  for (std::uint32_t row = 0; row < 48; row += 4) {
    for (std::uint32_t column = 0; column < 47; column += 5) {
      if (calorimeter.small(column, row) >= calorimeter.size() ||
          calorimeter.small(column + 1, row) >= calorimeter.size())
        continue;
      light(pairs, calorimeter.small(column, row), 3000 + static_cast<std::int32_t>(lit));
      light(pairs, calorimeter.small(column + 1, row), 5000);
      lit += 2;
    }
  }
  pulse_event saturated;
  for (std::uint32_t c = 0; c < calorimeter.size(); ++c) light(saturated, c, 1'260'000, 500);
  const auto expected = this->expect(calorimeter, {pairs, saturated});
  EXPECT_GT(expected[0].found, clusters::max_clusters);
  EXPECT_EQ(expected[0].found, lit / 2);
  EXPECT_EQ(expected[0].clusters.size(), clusters::max_clusters);
  EXPECT_EQ(expected[1].energy, INT32_MAX);
  EXPECT_EQ(expected[1].clusters[0].energy, INT32_MAX);
  EXPECT_EQ(expected[1].clusters[0].time, 2000);
}

TYPED_TEST_P(clustering, takes_crystals_at_the_edge_of_what_counts) {
  made_calorimeter calorimeter;
  auto queue = TypeParam::make();
  for (input_entry& input : calorimeter.inputs) input.time = 4000;
  const std::uint32_t a = calorimeter.small(0, 0);
  const std::uint32_t b = calorimeter.small(1, 0);
  const auto pair = [&](std::int32_t energy, std::uint16_t time) {
    pulse_event event;
    light(event, a, 9000, 1000);
    light(event, b, energy, time);
    return event;
  };
  const auto found = run_find_clusters(queue, calorimeter,
                                       {pair(3000, 1000), pair(2999, 1000), pair(3000, 500),
                                        pair(3000, 499), pair(3000, 1500), pair(3000, 1501)});
  const std::uint32_t expected[] = {2, 1, 2, 1, 2, 1};
  for (std::size_t e = 0; e < found.size(); ++e) {
    EXPECT_EQ(found[e].crystals, expected[e]) << e;
    EXPECT_EQ(found[e].found, expected[e] - 1) << e;
  }
  calorimeter.constants.crystal_threshold = -5; // a crystal without energy would have no weight
  const auto nothing =
      run_find_clusters(queue, calorimeter, {pair(0, 1000), pair(-3, 1000), pair(1, 1000)});
  EXPECT_EQ(nothing[0].crystals, 1U);
  EXPECT_EQ(nothing[1].crystals, 1U);
  EXPECT_EQ(nothing[2].crystals, 2U);
}

TYPED_TEST_P(clustering, finds_the_event_where_most_energy_is) {
  made_calorimeter calorimeter;
  auto queue = TypeParam::make();
  for (input_entry& input : calorimeter.inputs) input.time = 8000;
  calorimeter.constants.event_from = -5120; // ±40 ns
  calorimeter.constants.event_to = 5120;
  calorimeter.constants.crystal_from = -1000;
  calorimeter.constants.crystal_to = 1000;
  const auto pairs = [&](std::int32_t early, std::int32_t late, std::int32_t outside) {
    pulse_event event; // at −3200, 2000 and 2400, and beyond the window for events
    light(event, calorimeter.small(0, 0), early, 1200);
    light(event, calorimeter.small(1, 0), early, 1200);
    light(event, calorimeter.small(20, 0), late, 2500);
    light(event, calorimeter.small(21, 0), late, 2600);
    light(event, calorimeter.small(40, 0), outside, 4000);
    return event;
  };
  const auto found = run_find_clusters(
      queue, calorimeter, {pairs(9000, 8000, 90000), pairs(8000, 9000, 0), pairs(0, 0, 90000)});
  EXPECT_EQ(found[0].time, -3200);
  EXPECT_EQ(found[0].energy, 18000);
  EXPECT_EQ(found[1].time, 2200);
  EXPECT_EQ(found[1].energy, 18000);
  ASSERT_EQ(found[1].clusters.size(), 1U);
  EXPECT_EQ(found[1].clusters[0].time, 2200) << "since the trigger's time";
  EXPECT_EQ(found[2].time, 0) << "no crystal tells it";
  EXPECT_EQ(found[2].crystals, 0U);
}

TYPED_TEST_P(clustering, rounds_means_down) {
  const made_calorimeter calorimeter;
  auto queue = TypeParam::make();
  pulse_event event; // at x = −5875, −5625 and y = −5875; times 0 and 4
  light(event, calorimeter.small(0, 0), 4000, 0);
  light(event, calorimeter.small(1, 0), 3000, 1);
  const auto found = run_find_clusters(queue, calorimeter, {event});
  ASSERT_EQ(found[0].clusters.size(), 1U);
  EXPECT_EQ(found[0].clusters[0], (textbook_cluster{7000, 1, -5768, -5875, 2})); // −5767.86
}

TYPED_TEST_P(clustering, leaves_out_what_is_no_crystal) {
  made_calorimeter calorimeter;
  pulse_event event;
  for (std::uint32_t c = 0; c < 64; ++c) light(event, c, 10000, 10);
  event[1].number = board_signals::unread;
  event[2].kind = board_kind::sampling_500_mhz;
  calorimeter.inputs[3].kind = input_kind::none;
  calorimeter.inputs[4].kind = input_kind::veto;
  calorimeter.inputs[5].index = 2716; // behind the last
  const auto expected = this->expect(calorimeter, {event, {}, {event[1], event[2]}});
  EXPECT_EQ(expected[0].crystals, 29U);
  EXPECT_EQ(expected[1], textbook_calorimeter{});
  EXPECT_EQ(expected[2], textbook_calorimeter{});
}

TYPED_TEST_P(clustering, takes_the_highest_of_a_crystal_that_comes_more_than_once) {
  made_calorimeter calorimeter;
  randomness r(3);
  for (input_entry& input : calorimeter.inputs) input.time = 1000;
  for (std::uint32_t i = 40; i < 600; ++i) calorimeter.inputs[i].index = 7;
  for (std::uint32_t i = 600; i < 900; ++i) {
    calorimeter.inputs[i].index = static_cast<std::uint16_t>(600 + i % 5);
  }
  std::vector<pulse_event> events;
  for (std::uint32_t e = 0; e < 20; ++e) {
    pulse_event& event = events.emplace_back();
    for (std::uint32_t i = 0; i < 1000; ++i) {
      if (below(r, 1 + e) != 0) continue;
      light(event, i, static_cast<std::int32_t>(2900 + below(r, 300)),
            static_cast<std::uint16_t>(below(r, 510)));
    }
    events.push_back(event);
    std::shuffle(events.back().begin(), events.back().end(), r);
  }
  this->expect(calorimeter, events);
}

TYPED_TEST_P(clustering, does_not_care_for_the_order_of_boards) {
  made_calorimeter calorimeter;
  auto queue = TypeParam::make();
  randomness r(4);
  calorimeter.draw(r);
  std::vector<pulse_event> events;
  for (std::uint32_t e = 0; e < 10; ++e) events.push_back(draw_event(calorimeter, r));
  const auto first = run_find_clusters(queue, calorimeter, events);
  for (int again = 0; again < 5; ++again) {
    for (pulse_event& event : events) std::shuffle(event.begin(), event.end(), r);
    EXPECT_EQ(run_find_clusters(queue, calorimeter, events), first);
  }
}

REGISTER_TYPED_TEST_SUITE_P(clustering, finds_what_all_pairs_give_in_random_events,
                            finds_what_all_pairs_give_in_patterns,
                            joins_all_crystals_of_a_full_calorimeter, counts_what_does_not_fit,
                            takes_crystals_at_the_edge_of_what_counts,
                            finds_the_event_where_most_energy_is, rounds_means_down,
                            leaves_out_what_is_no_crystal,
                            takes_the_highest_of_a_crystal_that_comes_more_than_once,
                            does_not_care_for_the_order_of_boards);

} // namespace l3::test
