// SPDX-License-Identifier: Apache-2.0
// The counts of events by their definition, without code of the kernels.
#pragma once

#include <cstdint>
#include <vector>

#include "transport/format/event_key.hpp"
#include "transport/format/histograms.hpp"

namespace l3::test {

/// The bin of a value, found by looking for it.
inline std::uint32_t textbook_bin(const histogram_axis& axis, std::int64_t value) {
  std::uint32_t place = 0;
  for (std::int64_t edge = axis.low; place <= axis.bins && value >= edge; edge += axis.width)
    ++place;
  return place;
}

/// The counts of quantities of the events of one spill; those of masses and times are left at 0.
inline std::vector<std::uint64_t> textbook_counts(const std::vector<event_key>& events,
                                                  const std::vector<event_summary>& summaries,
                                                  std::uint32_t run, std::uint32_t spill,
                                                  std::uint32_t one_in) {
  std::vector<std::uint64_t> counts(event_counts);
  const auto add = [&](event_histogram h, std::int32_t value) {
    if (value == undefined_quantity) return;
    counts[first_count(h) + textbook_bin(axis_of(h), value)] += 1;
  };
  for (std::size_t k = 0; k < events.size(); ++k) {
    if (events[k].spill != spill) continue;
    const event_summary& e = summaries[k];
    counts[count_of_events] += 1;
    counts[count_of_sampled] += is_sampled(run, spill, events[k].number, one_in) ? 1 : 0;
    if ((e.status & not_judged) != 0) continue;
    const auto of = [&](quantity q) { return e.quantity[static_cast<std::size_t>(q)]; };
    add(event_histogram::calorimeter_energy, of(quantity::calorimeter_energy));
    add(event_histogram::crystals, of(quantity::crystals));
    add(event_histogram::clusters, of(quantity::clusters));
    add(event_histogram::photons, of(quantity::photons));
    add(event_histogram::vertex_z, of(quantity::vertex_z));
    add(event_histogram::transverse_momentum, of(quantity::transverse_momentum));
    for (std::uint32_t p = 0; p < e.photons; ++p)
      add(event_histogram::photon_energy, e.photon[p].energy);
  }
  return counts;
}

} // namespace l3::test
