// SPDX-License-Identifier: Apache-2.0
// Which crystals are neighbours: those that lie no farther apart than a given reach, in x as well
// as in y; sizes do not count. Clusters need no more of the geometry, so the table is made once, at
// start, from the places alone.
#pragma once

#include <cstdint>
#include <vector>

#include "selection/sequence/tables.hpp"

namespace l3 {

/// selection_tables::crystals and ::neighbours, as vectors.
struct neighbour_table {
  std::vector<crystal_entry> crystals;   ///< and one behind the last
  std::vector<std::uint16_t> neighbours; ///< of each crystal those with lower numbers, rising
};

/// Looks at the places of `crystals` only; there are at most 65 536. `reach` is in 0.1 mm; crystals
/// exactly that far apart are neighbours.
[[nodiscard]] neighbour_table find_neighbours(std::vector<crystal_entry> crystals,
                                              std::int32_t reach);

} // namespace l3
