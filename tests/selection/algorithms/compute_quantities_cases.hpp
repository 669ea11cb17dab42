// SPDX-License-Identifier: Apache-2.0
// The cases of compute_quantities, which must pass on every executor. A program that includes this
// header names the executors it tests, and the number of random events for each.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "selection/algorithms/compute_quantities.hpp"
#include "tests/gpu/executors/on_executor.hpp"
#include "tests/selection/algorithms/made_pulses.hpp"
#include "tests/selection/algorithms/quantities_textbook.hpp"

namespace l3::test {

/// Runs the kernel and returns the summaries of the events, after checking its promises.
template <class Queue>
std::vector<event_summary> run_compute_quantities(Queue& queue, const selection_constants& cut,
                                                  const std::vector<clustered_event>& events) {
  const auto n = static_cast<std::uint32_t>(events.size());
  constexpr std::uint32_t places = clusters::max_clusters;
  slot_rows<clusters, Queue> found(queue, n * places); // poisoned beyond what is listed
  slot_rows<calorimeter, Queue> all(queue, n);
  const slot_rows<summaries, Queue> out(queue, n);
  for (std::uint32_t e = 0; e < n; ++e) {
    all.host()[e] = {events[e].energy, events[e].time, events[e].crystals, events[e].found};
    for (std::uint32_t k = 0; k < events[e].clusters.size(); ++k) {
      const photon_summary& c = events[e].clusters[k];
      found.host()[places * e + k] = {c.energy, c.time, c.x, c.y, c.crystals};
    }
  }
  found.send();
  all.send();
  lender<Queue> lent(queue);
  const std::vector<event_entry> entries(n);
  selection_frame frame;
  frame.tables.constants = cut;
  frame.batch.events = lent.lend(entries);
  queue.run(compute_quantities{}, n, frame, clusters::columns::const_view(found.there()),
            calorimeter::columns::const_view(all.there()), out.there());
  out.fetch();
  const char* const broken =
      compute_quantities::broken_promise(frame, found.host(), all.host(), out.host());
  EXPECT_STREQ(broken == nullptr ? "" : broken, "");
  std::vector<event_summary> summaries;
  for (std::uint32_t e = 0; e < n; ++e) summaries.push_back(out.host().all[e]);
  return summaries;
}

inline selection_constants usual_constants() {
  selection_constants cut;
  cut.photon_threshold = 20000;
  cut.photon_from = -1000;
  cut.photon_to = 1000;
  cut.photon_scale = 68000;
  cut.correction_points = 3;
  cut.correction[0] = {20000, 1500};
  cut.correction[1] = {300000, 9100};
  cut.correction[2] = {1000000, -700};
  cut.front = 61480;
  return cut;
}

inline photon_summary draw_cluster(std::int32_t event_time, randomness& r) {
  const auto within = [&](std::uint32_t most) {
    return static_cast<std::int32_t>(below(r, 2 * most + 1)) - static_cast<std::int32_t>(most);
  };
  photon_summary c;
  c.energy = static_cast<std::int32_t>(below(r, 8) == 0 ? below(r, 40000) : below(r, 2'000'000));
  if (below(r, 6) == 0) c.energy = 300'000; // as much as another
  // By scale and correction near the threshold.
  if (below(r, 8) == 0) c.energy = 17820 + static_cast<std::int32_t>(below(r, 20));
  c.time = within(below(r, 10) == 0 ? 3000 : 900);
  if (below(r, 10) == 0) c.time = event_time + (below(r, 2) == 0 ? 1000 : -1000) + within(1);
  c.x = static_cast<std::int16_t>(within(9180));
  c.y = static_cast<std::int16_t>(below(r, 20) == 0 ? -c.x : within(9180));
  if (below(r, 50) == 0) c.x = c.y = 0;
  c.crystals = static_cast<std::uint16_t>(2 + below(r, 40));
  return c;
}

inline clustered_event draw_clustered(randomness& r) {
  clustered_event event;
  constexpr std::uint32_t many =
      30; // one event in so many has more clusters than a list of photons
  const std::uint32_t most = below(r, many) == 0 ? 80 : 8;
  event.found = static_cast<std::uint16_t>(below(r, 3) == 0 ? 2 : below(r, most + 1));
  const auto n = std::min<std::uint32_t>(event.found, clusters::max_clusters);
  event.time = static_cast<std::int32_t>(below(r, 1001)) - 500;
  for (std::uint32_t k = 0; k < n; ++k) event.clusters.push_back(draw_cluster(event.time, r));
  event.energy = static_cast<std::int32_t>(below(r, 1U << 30));
  event.crystals = static_cast<std::uint16_t>(2 * event.found + below(r, 1000));
  return event;
}

template <class Executor>
class measuring : public on_executor<Executor> {
protected:
  /// Expects the summaries of the textbook, and returns them.
  static std::vector<event_summary> expect(const selection_constants& cut,
                                           const std::vector<clustered_event>& events) {
    auto queue = Executor::make();
    const auto found = run_compute_quantities(queue, cut, events);
    std::vector<event_summary> expected;
    for (std::size_t e = 0; e < events.size(); ++e) {
      expected.push_back(textbook_summary(events[e], cut));
      for (std::uint32_t q = 0; q < quantities; ++q) {
        EXPECT_EQ(found[e].quantity[q], expected[e].quantity[q])
            << name_of(static_cast<quantity>(q)) << " of event " << e;
      }
      EXPECT_EQ(found[e], expected[e]) << "event " << e;
    }
    return expected;
  }
};
TYPED_TEST_SUITE_P(measuring);

TYPED_TEST_P(measuring, gives_what_the_definitions_say_of_random_events) {
  randomness r(11);
  constexpr std::uint32_t batch = 500;
  for (std::uint32_t done = 0; done < TypeParam::random_events; done += batch) {
    std::vector<clustered_event> events;
    for (std::uint32_t e = 0; e < batch; ++e) events.push_back(draw_clustered(r));
    selection_constants cut = usual_constants();
    if (done % (2 * batch) != 0) { // a photon without energy would have no weight
      cut.photon_threshold = -1000;
      cut.correction[0].lacking = -500;
    }
    this->expect(cut, events);
    if (this->HasFailure()) FAIL() << "after " << done;
  }
}

TYPED_TEST_P(measuring, bears_what_does_not_fit) {
  selection_constants cut = usual_constants();
  cut.photon_from = INT32_MIN;
  cut.photon_to = INT32_MAX;
  std::vector<clustered_event> events(4);
  for (std::uint32_t k = 0; k < clusters::max_clusters; ++k) {
    const auto at = static_cast<std::int16_t>(k % 2 == 0 ? INT16_MIN : INT16_MAX);
    const std::int32_t time = k % 3 == 0 ? INT32_MIN : INT32_MAX;
    for (clustered_event& event : events)
      event.clusters.push_back({INT32_MAX - 5, time, at, at, 1000, 0});
  }
  events[1].clusters.resize(2);
  events[2].clusters.resize(16);
  events[3].clusters.resize(17);
  for (clustered_event& event : events) {
    event.found = static_cast<std::uint16_t>(event.clusters.size());
    event.energy = INT32_MAX;
    event.crystals = 60000;
  }
  events[0].found = 1000;
  const auto summaries = this->expect(cut, events);
  EXPECT_EQ(summaries[0].status, too_many_clusters | more_photons);
  EXPECT_EQ(summaries[0].photons_found, clusters::max_clusters);
  EXPECT_EQ(summaries[0].photons, max_summary_photons);
  EXPECT_EQ(summaries[1].status, 0);
  EXPECT_EQ(summaries[2].status, 0);
  EXPECT_EQ(summaries[3].status, more_photons);
  const auto of = [&](std::size_t e, quantity q) {
    return summaries[e].quantity[static_cast<std::size_t>(q)];
  };
  EXPECT_EQ(of(0, quantity::photon_energy), INT32_MAX);
  EXPECT_EQ(of(1, quantity::photon_time_spread), INT32_MAX);
  EXPECT_EQ(of(1, quantity::photon_distance), 92680);
  EXPECT_EQ(of(1, quantity::opening), -1000);
}

REGISTER_TYPED_TEST_SUITE_P(measuring, gives_what_the_definitions_say_of_random_events,
                            bears_what_does_not_fit);

} // namespace l3::test
