// SPDX-License-Identifier: Apache-2.0
// histogram_events: a block per event counts its quantities in the histograms of its spill. Many
// blocks count in the same bins; counts are integers, so their order does not matter.
#pragma once

#include <cstdint>
#include <string_view>

#include "gpu/executors/atomics.hpp"
#include "selection/histograms/pion_pairs.hpp"
#include "selection/sequence/algorithm.hpp"
#include "selection/sequence/slots.hpp"

namespace l3 {

struct histogram_events {
  static constexpr std::string_view name = "histogram_events";
  static constexpr blocks_for run_for = blocks_for::event;
  using reads = slot_list<summaries>;
  using writes = slot_list<>;

  static constexpr std::uint32_t width = 32; // on a device
  struct shared {};

  template <block B>
  L3_FN void operator()(const B& b, shared&, const selection_frame& f,
                        const summaries::columns::const_view& summary) const {
    const event_entry& event = f.batch.events[b.index()];
    const std::uint32_t place = f.histograms.place_of(event.spill);
    if (place == f.histograms.spills) return;
    std::uint32_t* const counts = f.histograms.counts(place);
    const event_summary& seen = summary.all.data()[b.index()];
    const bool is_known = (seen.status & not_judged) == 0;
    for_each(b, 1, [&](std::uint32_t) {
      add(b, counts + count_of_events);
      if (is_sampled(f.tables.constants.run, event.spill, event.number, f.histograms.one_in))
        add(b, counts + count_of_sampled);
      if (!is_known) return;
      count<event_histogram::calorimeter_energy>(b, counts, seen, quantity::calorimeter_energy);
      count<event_histogram::crystals>(b, counts, seen, quantity::crystals);
      count<event_histogram::clusters>(b, counts, seen, quantity::clusters);
      count<event_histogram::photons>(b, counts, seen, quantity::photons);
      count<event_histogram::vertex_z>(b, counts, seen, quantity::vertex_z);
      count<event_histogram::transverse_momentum>(b, counts, seen, quantity::transverse_momentum);
    });
    if (!is_known) return;
    for_each(b, seen.photons, [&](std::uint32_t k) {
      count<event_histogram::photon_energy>(b, counts, seen.photon[k].energy);
    });
    if (seen.photons_found != four_photons) return;
    for_each(b, 1, [&](std::uint32_t) {
      const pion_masses pions = find_pion_masses(seen.photon);
      if (!pions.found) return;
      count<event_histogram::pion_mass>(b, counts, pions.mass[0]);
      count<event_histogram::pion_mass>(b, counts, pions.mass[1]);
    });
  }

  /// Returns the promise that the output breaks; nullptr if it keeps all.
  static const char* broken_promise(const selection_frame& f,
                                    const summaries::columns::const_view&) {
    std::uint64_t counted = 0;
    for (std::uint32_t place = 0; place < f.histograms.spills; ++place)
      counted += f.histograms.counts(place)[count_of_events];
    const bool all_fit = f.histograms.spills < max_frame_spills;
    if (counted > f.batch.events.size() || (all_fit && counted != f.batch.events.size()))
      return "the histograms have another number of events than the frame";
    return nullptr;
  }

private:
  static constexpr std::uint32_t four_photons = 4;

  template <block B>
  L3_FN static void add(const B& b, std::uint32_t* count) {
    static_cast<void>(fetch_add(b, count, 1));
  }

  template <event_histogram H, block B>
  L3_FN static void count(const B& b, std::uint32_t* counts, std::int32_t value) {
    constexpr histogram_axis axis = axis_of(H);
    constexpr std::uint32_t first = first_count(H);
    add(b, counts + first + axis.place_of(value));
  }
  template <event_histogram H, block B>
  L3_FN static void count(const B& b, std::uint32_t* counts, const event_summary& seen,
                          quantity what) {
    const std::int32_t value = seen.quantity[static_cast<std::uint32_t>(what)];
    if (value != undefined_quantity) count<H>(b, counts, value);
  }
};

} // namespace l3
