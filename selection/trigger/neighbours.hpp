// SPDX-License-Identifier: Apache-2.0
// Which crystals are neighbours: those that lie no farther apart than a given reach, in x as well
// as in y, whatever their sizes. That is all the clusters need to know of the geometry, so it is
// worked out once, at start, from nothing but places.
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

/// Of `crystals` only the places are looked at; there are at most 65 536. `reach` is in 0.1 mm, and
/// itself near enough.
[[nodiscard]] neighbour_table find_neighbours(std::vector<crystal_entry> crystals,
                                              std::int32_t reach);

} // namespace l3
