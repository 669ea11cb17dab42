// SPDX-License-Identifier: Apache-2.0
// find_clusters with connectors, after the hit finder of CBM's silicon tracker (F. Weiglhofer,
// 2024), for comparison with union-find. There a hit connects itself to one in the next channel,
// and the first hit of a chain follows the connectors. A crystal has neighbours in two dimensions,
// so chains of one cluster meet: each crystal connects itself, or the end of its chain, to a lower
// neighbour. Another round follows as long as two ends of a cluster differ.
#pragma once

#include "selection/algorithms/find_clusters.hpp"

namespace l3::bench {

struct find_clusters_by_connectors : find_clusters {
  struct shared : find_clusters::shared {
    std::uint32_t differ; ///< not 0: some neighbours have different ends
  };

  template <block B>
  L3_FN void operator()(const B& b, shared& s, const selection_frame& frame,
                        const pulses::columns::const_view& pulse,
                        const board_signals::columns::const_view& signal,
                        const clusters::columns::view& cluster,
                        const calorimeter::columns::view& all) const {
    find(b, s, frame, pulse, signal, cluster, all, [&] {
      for (bool again = true; again;) {
        for_each(b, 1, [&](std::uint32_t) { s.differ = 0; });
        b.sync();
        connect(b, s, frame.tables);
        b.sync();
        again = s.differ != 0;
        flatten(b, s);
        b.sync();
      }
    });
  }

private:
  /// Connects the higher end of each pair of neighbours in time to the lower one. Of several
  /// connections of one end the lowest stays; a later round makes the others.
  template <block B>
  L3_FN static void connect(const B& b, shared& s, const selection_tables& tables) {
    for_each(b, s.seen, [&](std::uint32_t i) {
      const std::uint32_t crystal = s.crystal[i];
      if (s.sets.above(b, crystal) == s.sets.nowhere) return;
      const std::uint32_t end = tables.crystals[crystal + 1].first_neighbour;
      for (std::uint32_t k = tables.crystals[crystal].first_neighbour; k < end; ++k) {
        const std::uint32_t other = s.sets.above(b, tables.neighbours[k]);
        const std::uint32_t own = s.sets.above(b, crystal);
        if (other == own || other == s.sets.nowhere) continue;
        s.sets.hang(b, own > other ? own : other, own > other ? other : own);
        set_bits_within(b, &s.differ, 1);
      }
    });
  }
};

} // namespace l3::bench
