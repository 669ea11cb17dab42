// SPDX-License-Identifier: Apache-2.0
// The cases of the kernels that count events, which must pass on every executor: histogram_events
// on summaries, histogram_vetoes on hits, and clear_histograms, in memory that is poisoned before.
#pragma once

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "selection/histograms/clear_histograms.hpp"
#include "selection/histograms/histogram_events.hpp"
#include "selection/histograms/histogram_vetoes.hpp"
#include "tests/gpu/executors/on_executor.hpp"
#include "tests/selection/algorithms/made_pulses.hpp"
#include "tests/selection/histograms/counts_textbook.hpp"

namespace l3::test {

struct area_content {
  std::vector<channel_sums> channels;
  std::vector<std::uint64_t> counts;

  friend bool operator==(const area_content&, const area_content&) = default;
};

/// Areas for spills, in memory that the kernels of a queue reach.
template <class Queue>
class lent_areas {
public:
  lent_areas(Queue& queue, std::uint32_t inputs, const std::vector<std::uint32_t>& spills)
      : bytes_(spills.size() * histogram_view::bytes_of_area(inputs)), memory_(queue, bytes_) {
    const std::vector<std::byte> poison(bytes_, std::byte{0xa5});
    memory_.write(poison.data(), poison.size());
    there_.end = memory_.bytes().data() + bytes_;
    there_.inputs = inputs;
    there_.one_in = 3;
    for (const std::uint32_t spill : spills) there_.add(spill);
  }

  [[nodiscard]] const histogram_view& there() const { return there_; }
  [[nodiscard]] area_content read(std::uint32_t place) const {
    std::vector<std::byte> all(bytes_);
    memory_.read(all.data());
    histogram_view here = there_;
    here.end = all.data() + all.size();
    return {{here.channels(place), here.channels(place) + here.inputs},
            {here.counts(place), here.counts(place) + event_counts}};
  }

private:
  std::size_t bytes_;
  lent_memory<Queue> memory_;
  histogram_view there_;
};

template <class Executor>
class counting : public on_executor<Executor> {};
TYPED_TEST_SUITE_P(counting);

inline std::vector<event_summary> make_summaries(std::uint32_t n, randomness& r) {
  std::vector<event_summary> all(n);
  for (event_summary& e : all) {
    for (std::int32_t& q : e.quantity)
      q = below(r, 5) == 0 ? undefined_quantity : static_cast<std::int32_t>(r());
    e.quantity[static_cast<std::size_t>(quantity::crystals)] =
        static_cast<std::int32_t>(below(r, 300));
    e.status = static_cast<std::uint8_t>(below(r, 8));
    e.photons = static_cast<std::uint8_t>(below(r, 5));
    e.photons_found = e.photons;
    const auto place = [&] {
      return static_cast<std::int16_t>(static_cast<std::int32_t>(below(r, 16000)) - 8000);
    };
    for (std::uint32_t p = 0; p < e.photons; ++p)
      e.photon[p] = {
          static_cast<std::int32_t>(100'000 + below(r, 1'000'000)), 0, place(), place(), 3, 0};
  }
  return all;
}

TYPED_TEST_P(counting, puts_quantities_and_masses_into_the_bins_of_their_spill) {
  randomness r(17);
  constexpr std::uint32_t n = 200;
  const auto made = make_summaries(n, r);
  std::vector<event_key> keys;
  std::vector<event_entry> entries(n);
  for (std::uint32_t e = 0; e < n; ++e) {
    keys.push_back({7 + below(r, 3), e + 1}); // of three spills; the frame has areas for two
    entries[e].spill = keys[e].spill;
    entries[e].number = keys[e].number;
  }
  auto queue = TypeParam::make();
  slot_rows<summaries, decltype(queue)> seen(queue, n);
  for (std::uint32_t e = 0; e < n; ++e) seen.host().all[e] = made[e];
  seen.send();
  lender lent(queue);
  const lent_areas areas(queue, 0, {8, 7});
  selection_frame frame;
  frame.tables.constants.run = 5;
  frame.batch.events = lent.lend(entries);
  frame.histograms = areas.there();
  queue.run(clear_histograms{}, 2, areas.there(), false);
  queue.run(histogram_events{}, n, frame, summaries::columns::const_view(seen.there()));
  std::uint32_t masses = 0;
  for (const std::uint32_t place : {0U, 1U}) {
    const std::uint32_t spill = areas.there().spill[place];
    auto expected = textbook_counts(keys, made, 5, spill, 3);
    for (std::uint32_t e = 0; e < n; ++e) {
      if (keys[e].spill != spill || (made[e].status & not_judged) != 0) continue;
      if (made[e].photons_found != 4) continue;
      const pion_masses pions = find_pion_masses(made[e].photon);
      if (!pions.found) continue;
      for (const std::int32_t mass : pions.mass)
        expected[first_count(event_histogram::pion_mass) +
                 textbook_bin(axis_of(event_histogram::pion_mass), mass)] += 1;
      ++masses;
    }
    EXPECT_EQ(areas.read(place).counts, expected) << "spill " << spill;
  }
  EXPECT_GT(masses, 2U) << "or this says little";
}

TYPED_TEST_P(counting, puts_times_of_hits_into_the_bins_of_their_counter) {
  randomness r(18);
  constexpr std::uint32_t n = 20;
  constexpr std::int32_t threshold = 1000;
  std::vector<module_entry> modules(5);
  for (std::uint8_t k = 0; k < modules.size(); ++k) modules[k].veto = k / 2;
  std::vector<veto_entry> vetoes(3);
  for (veto_entry& v : vetoes) v.threshold = threshold;
  std::vector<event_entry> entries(n);
  std::vector<std::vector<std::uint64_t>> expected(2, std::vector<std::uint64_t>(event_counts));
  auto queue = TypeParam::make();
  slot_rows<calorimeter, decltype(queue)> times(queue, n);
  slot_rows<hits, decltype(queue)> all(queue, n * hits::max_hits);
  slot_rows<hit_counts, decltype(queue)> found(queue, n);
  for (std::uint32_t e = 0; e < n; ++e) {
    entries[e].spill = e % 3; // of the third one the frame has nothing
    const auto time = static_cast<std::int32_t>(below(r, 4000)) - 2000;
    times.host()[e] = {0, time, 0, 0};
    const std::uint32_t in_event = e == 5 ? hits::max_hits + 1 : below(r, 60);
    found.host()[e] = {in_event};
    for (std::uint32_t i = 0; i < in_event && i < hits::max_hits; ++i) {
      auto hit_time = static_cast<std::int32_t>(below(r, 60000)) - 30000;
      if (below(r, 20) == 0) hit_time = below(r, 2) == 0 ? INT32_MAX : INT32_MIN;
      const auto energy = static_cast<std::int32_t>(below(r, 2 * threshold));
      const auto module =
          static_cast<std::uint16_t>(below(r, 10) == 0 ? hits::no_module : below(r, 5));
      all.host()[e * hits::max_hits + i] = {energy, hit_time, 0, module, 1};
      if (module == hits::no_module || energy < threshold || entries[e].spill == 2) continue;
      if (in_event > hits::max_hits) continue;
      expected[entries[e].spill][first_veto_count(module / 2) +
                                 textbook_bin(veto_time_axis, std::int64_t{hit_time} - time)] += 1;
    }
  }
  times.send();
  all.send();
  found.send();
  lender lent(queue);
  const lent_areas areas(queue, 0, {0, 1});
  selection_frame frame;
  frame.tables.modules = lent.lend(modules);
  frame.tables.vetoes = lent.lend(vetoes);
  frame.batch.events = lent.lend(entries);
  frame.histograms = areas.there();
  queue.run(clear_histograms{}, 2, areas.there(), false);
  queue.run(histogram_vetoes{}, n, frame, calorimeter::columns::const_view(times.there()),
            hits::columns::const_view(all.there()), hit_counts::columns::const_view(found.there()));
  for (const std::uint32_t place : {0U, 1U})
    EXPECT_EQ(areas.read(place).counts, expected[place]) << "spill " << place;
}

TYPED_TEST_P(counting, begins_at_zero) {
  auto queue = TypeParam::make();
  const lent_areas areas(queue, 32, {4, 5, 6});
  queue.run(clear_histograms{}, 2, areas.there(), true);
  const area_content none{std::vector<channel_sums>(32), std::vector<std::uint64_t>(event_counts)};
  EXPECT_EQ(areas.read(0), none);
  EXPECT_EQ(areas.read(1), none);
  EXPECT_NE(areas.read(2), none) << "nobody cleared it";
  queue.run(clear_histograms{}, 3, areas.there(), false);
  EXPECT_EQ(areas.read(2).counts, none.counts);
  EXPECT_NE(areas.read(2).channels, none.channels) << "histogram_channels writes them";
}

REGISTER_TYPED_TEST_SUITE_P(counting, puts_quantities_and_masses_into_the_bins_of_their_spill,
                            puts_times_of_hits_into_the_bins_of_their_counter, begins_at_zero);

} // namespace l3::test
