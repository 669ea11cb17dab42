// SPDX-License-Identifier: Apache-2.0
// histogram_vetoes: a block per event counts, by counter, the times of hits above the counter's
// threshold, relative to the event and inside or outside its window.
#pragma once

#include <cstdint>
#include <string_view>

#include "gpu/executors/atomics.hpp"
#include "selection/sequence/algorithm.hpp"
#include "selection/sequence/slots.hpp"

namespace l3 {

struct histogram_vetoes {
  static constexpr std::string_view name = "histogram_vetoes";
  static constexpr blocks_for run_for = blocks_for::event;
  using reads = slot_list<calorimeter, hits, hit_counts>;
  using writes = slot_list<>;

  static constexpr std::uint32_t width = 32; // on a device
  struct shared {};

  template <block B>
  L3_FN void operator()(const B& b, shared&, const selection_frame& f,
                        const calorimeter::columns::const_view& event,
                        const hits::columns::const_view& all,
                        const hit_counts::columns::const_view& found) const {
    const std::uint32_t e = b.index();
    const std::uint32_t place = f.histograms.place_of(f.batch.events[e].spill);
    if (place == f.histograms.spills) return;
    if (found.found[e] > hits::max_hits) return; // the event is overfull, so its hits are unknown
    std::uint32_t* const counts = f.histograms.counts(place);
    for_each(b, found.found[e], [&](std::uint32_t i) {
      const auto hit = all[e * hits::max_hits + i];
      if (hit.module >= f.tables.modules.size()) return;
      const std::uint32_t counter = f.tables.modules[hit.module].veto;
      if (counter >= f.tables.vetoes.size() || counter >= max_vetoes) return;
      if (hit.energy < f.tables.vetoes[counter].threshold) return;
      constexpr std::uint32_t first = first_veto_count(0);
      constexpr histogram_axis axis = veto_time_axis;
      constexpr std::uint32_t of_each = axis.counts();
      constexpr std::int64_t limit = 0x7fffffff;
      const std::int64_t since = std::int64_t{hit.time} - event.time[e];
      const std::int64_t bound = since < -limit ? -limit : (since > limit ? limit : since);
      const std::uint32_t bin = axis.place_of(static_cast<std::int32_t>(bound));
      static_cast<void>(fetch_add(b, counts + first + counter * of_each + bin, 1));
    });
  }

  /// Returns the promise that the output breaks; nullptr if it keeps all.
  static const char* broken_promise(const selection_frame& f,
                                    const calorimeter::columns::const_view&,
                                    const hits::columns::const_view&,
                                    const hit_counts::columns::const_view&) {
    for (std::uint32_t place = 0; place < f.histograms.spills; ++place)
      for (std::uint32_t i = first_veto_count(f.tables.vetoes.size());
           i < first_veto_count(max_vetoes); ++i)
        if (f.histograms.counts(place)[i] != 0) return "a counter that does not exist has hits";
    return nullptr;
  }
};

} // namespace l3
