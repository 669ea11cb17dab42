// SPDX-License-Identifier: Apache-2.0
// The cases of find_clusters, which must pass on every executor. A program that includes this
// header names the executors it tests, and the number of random events for each.
#pragma once

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "bench/selection/connectors.hpp"
#include "selection/algorithms/find_clusters.hpp"
#include "tests/gpu/executors/on_executor.hpp"
#include "tests/selection/algorithms/clusters_textbook.hpp"

namespace l3::test {

/// Runs the kernel and returns its output for the events, after checking its promises and that it
/// wrote no other rows.
template <class Kernel, class Queue>
std::vector<textbook_calorimeter> run_find_clusters(Queue& queue,
                                                    const made_calorimeter& calorimeter,
                                                    const std::vector<pulse_event>& events) {
  const auto n = static_cast<std::uint32_t>(events.size());
  const made_pulses<Queue> made(queue, events);
  const slot_rows<clusters, Queue> found(queue, n * clusters::max_clusters);
  const slot_rows<l3::calorimeter, Queue> all(queue, n);
  lender<Queue> lent(queue);
  const selection_frame frame{made.there(), lent.lend(calorimeter.tables()), {}};
  queue.run(Kernel{}, n, frame, pulses::columns::const_view(made.rows().there()),
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
    const auto expect_from = [&]<class Kernel>(const Kernel&) {
      const auto found = run_find_clusters<Kernel>(queue, calorimeter, events);
      for (std::size_t e = 0; e < events.size(); ++e)
        EXPECT_EQ(found[e], expected[e]) << "event " << e << " of " << expected[e].crystals;
    };
    expect_from(find_clusters());
    if constexpr (!decltype(queue)::memory::has_device) // the bench's peer
      expect_from(bench::find_clusters_by_connectors());
    return expected;
  }
};
TYPED_TEST_SUITE_P(clustering);

/// Draws a sparse, clustered or dense event; some crystals are too low or out of time, and some
/// boards have no crystals.
inline pulse_event draw_event(const made_calorimeter& calorimeter, randomness& r) {
  pulse_event event;
  const std::int32_t latest = calorimeter.constants.event_to + calorimeter.constants.crystal_to;
  const auto light_at_random = [&](std::uint32_t crystal) {
    const input_entry& input = calorimeter.inputs[crystal];
    auto sum = static_cast<std::int32_t>(below(r, 3) == 0 ? below(r, 12000) : below(r, 1U << 20));
    if (below(r, 50) == 0) sum = -static_cast<std::int32_t>(below(r, 3));
    const auto time = static_cast<std::int32_t>(below(r, 2 * latest)) - latest;
    const auto at = static_cast<std::uint16_t>(std::clamp((input.time + time) / 4, 0, 0xffff));
    add_pulse(event, static_cast<std::uint16_t>(crystal / 16), crystal % 16, sum, at);
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
  const selection_constants usual = calorimeter.constants;
  const std::vector<input_entry> inputs = calorimeter.inputs;
  randomness r(1);
  constexpr std::uint32_t batch = 250;
  for (std::uint32_t done = 0; done < TypeParam::random_events; done += batch) {
    calorimeter.inputs = inputs;
    calorimeter.draw(r);
    calorimeter.constants = usual;
    if (done % (2 * batch) != 0) { // an early and a late event compete
      calorimeter.constants.event_from = -5120;
      calorimeter.constants.event_to = 5120;
      calorimeter.constants.crystal_threshold = -5; // a crystal needs energy all the same
      // Of a crystal on several inputs the highest pulse counts.
      for (std::uint32_t i = 40; i < 900; ++i)
        calorimeter.inputs[i].index = static_cast<std::uint16_t>(600 + i % 50);
    }
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
  pulse_event late = light_where(calorimeter, [](const crystal_place&) { return true; });
  for (pulse_board& board : late) board.time[board.number % 16] = 1600;
  events.push_back(late);
  const auto expected = this->expect(calorimeter, events);
  EXPECT_EQ(expected[0].crystals, 2716U);
  EXPECT_EQ(expected[0].found, 1U);
  EXPECT_LT(expected.back().crystals, 2716U) << "some are out of time";
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

REGISTER_TYPED_TEST_SUITE_P(clustering, finds_what_all_pairs_give_in_random_events,
                            finds_what_all_pairs_give_in_patterns, counts_what_does_not_fit,
                            leaves_out_what_is_no_crystal);

} // namespace l3::test
