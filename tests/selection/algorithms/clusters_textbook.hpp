// SPDX-License-Identifier: Apache-2.0
// Finds the clusters of an event by the definition: it compares the places of every pair of
// crystals and joins neighbours until no two clusters touch.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "tests/selection/algorithms/made_calorimeter.hpp"

namespace l3::test {

struct textbook_cluster {
  std::int64_t energy = 0;
  std::int64_t time = 0;
  std::int64_t x = 0;
  std::int64_t y = 0;
  std::uint32_t crystals = 0;

  friend bool operator==(const textbook_cluster&, const textbook_cluster&) = default;
};

struct textbook_calorimeter {
  std::int64_t energy = 0;
  std::uint32_t crystals = 0;
  std::uint32_t found = 0;
  std::vector<textbook_cluster> clusters; ///< those that have rows

  friend bool operator==(const textbook_calorimeter&, const textbook_calorimeter&) = default;
};

inline std::int64_t textbook_floor(std::int64_t sum, std::int64_t by) {
  return sum >= 0 ? sum / by : -((-sum + by - 1) / by);
}

/// Energy and time of the crystals above threshold and in time, by number.
inline std::map<std::uint32_t, std::pair<std::int64_t, std::int64_t>>
textbook_crystals(const pulse_event& event, const made_calorimeter& calorimeter) {
  std::map<std::uint32_t, std::pair<std::int64_t, std::int64_t>> lit;
  const selection_constants& cut = calorimeter.constants;
  for (const pulse_board& board : event) {
    if (board.number == board_signals::unread || board.kind != board_kind::sampling_125_mhz)
      continue;
    for (std::uint32_t row = 0; row < 16; ++row) {
      if ((board.lit >> row & 1) == 0) continue;
      const input_entry& input = calorimeter.inputs[16U * board.number + row];
      if (input.kind != input_kind::crystal || input.index >= calorimeter.size()) continue;
      const std::int64_t energy = textbook_floor(std::int64_t{board.sum[row]} * input.gain, 65536);
      const std::int64_t time = std::int64_t{4} * board.time[row] - input.time;
      if (energy < std::max(cut.crystal_threshold, 1) || time < cut.crystal_from ||
          time > cut.crystal_to)
        continue;
      auto& mine = lit[input.index];
      mine = std::max(mine, std::pair(energy, time));
    }
  }
  return lit;
}

inline textbook_calorimeter textbook_clusters(const pulse_event& event,
                                              const made_calorimeter& calorimeter) {
  struct hit {
    std::uint32_t crystal;
    std::int64_t energy;
    std::int64_t time;
    bool seen;
  };
  std::vector<hit> hits;
  textbook_calorimeter all;
  for (const auto& [crystal, what] : textbook_crystals(event, calorimeter)) {
    hits.push_back({crystal, what.first, what.second, false});
    all.energy += what.first;
    ++all.crystals;
  }
  const auto are_near = [&](const hit& a, const hit& b) {
    const crystal_place& p = calorimeter.places()[a.crystal];
    const crystal_place& q = calorimeter.places()[b.crystal];
    return std::abs(p.x - q.x) <= cluster_reach && std::abs(p.y - q.y) <= cluster_reach;
  };
  for (hit& first : hits) {
    if (first.seen) continue;
    first.seen = true;
    std::vector<const hit*> members{&first};
    for (std::size_t k = 0; k < members.size(); ++k) {
      for (hit& other : hits) {
        if (other.seen || !are_near(*members[k], other)) continue;
        other.seen = true;
        members.push_back(&other);
      }
    }
    if (members.size() < 2) continue;
    ++all.found;
    if (all.found > clusters::max_clusters) continue;
    textbook_cluster sum;
    for (const hit* h : members) {
      sum.energy += h->energy;
      sum.time += h->energy * h->time;
      sum.x += h->energy * std::lround(10 * calorimeter.places()[h->crystal].x);
      sum.y += h->energy * std::lround(10 * calorimeter.places()[h->crystal].y);
      ++sum.crystals;
    }
    constexpr std::int64_t most = INT32_MAX;
    all.clusters.push_back({std::min(sum.energy, most), textbook_floor(sum.time, sum.energy),
                            textbook_floor(sum.x, sum.energy), textbook_floor(sum.y, sum.energy),
                            sum.crystals});
  }
  all.energy = std::min<std::int64_t>(all.energy, INT32_MAX);
  return all;
}

} // namespace l3::test
