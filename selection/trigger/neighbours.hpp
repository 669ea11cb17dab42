// SPDX-License-Identifier: Apache-2.0
// Finds neighbouring crystals: those within a given reach in both x and y; sizes do not matter.
// Clusters need nothing else of the geometry, so the table is made once, at the start, from the
// places only.
#pragma once

#include <cstdint>
#include <vector>

#include "selection/sequence/tables.hpp"

namespace l3 {

/// selection_tables::crystals and ::neighbours, as vectors.
struct neighbour_table {
  std::vector<crystal_entry> crystals;   ///< plus one after the last
  std::vector<std::uint16_t> neighbours; ///< for each crystal those with lower numbers, sorted
};

/// Reads only the places of `crystals`, 65 536 at most. `reach` is in 0.1 mm; crystals exactly that
/// far apart are neighbours.
[[nodiscard]] neighbour_table find_neighbours(std::vector<crystal_entry> crystals,
                                              std::int32_t reach);

} // namespace l3
