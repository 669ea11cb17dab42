// SPDX-License-Identifier: Apache-2.0
#include "selection/trigger/neighbours.hpp"

#include <cstdlib>
#include <utility>

namespace l3 {

neighbour_table find_neighbours(std::vector<crystal_entry> crystals, std::int32_t reach) {
  neighbour_table table{std::move(crystals), {}};
  for (std::size_t i = 0; i < table.crystals.size(); ++i) {
    crystal_entry& mine = table.crystals[i];
    mine.first_neighbour = static_cast<std::uint32_t>(table.neighbours.size());
    for (std::size_t j = 0; j < i; ++j) {
      const crystal_entry& other = table.crystals[j];
      if (std::abs(mine.x - other.x) <= reach && std::abs(mine.y - other.y) <= reach)
        table.neighbours.push_back(static_cast<std::uint16_t>(j));
    }
  }
  crystal_entry& behind = table.crystals.emplace_back();
  behind.first_neighbour = static_cast<std::uint32_t>(table.neighbours.size());
  return table;
}

} // namespace l3
