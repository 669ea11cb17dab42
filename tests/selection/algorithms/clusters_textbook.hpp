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
  std::int64_t time = 0; ///< the event's
  std::uint32_t crystals = 0;
  std::uint32_t found = 0;
  std::vector<textbook_cluster> clusters; ///< those that have rows

  friend bool operator==(const textbook_calorimeter&, const textbook_calorimeter&) = default;
};

inline std::int64_t textbook_floor(std::int64_t sum, std::int64_t by) {
  return sum >= 0 ? sum / by : -((-sum + by - 1) / by);
}

/// Energy and time, by number of the crystal.
using textbook_lit = std::map<std::uint32_t, std::pair<std::int64_t, std::int64_t>>;

/// The crystals above threshold.
inline textbook_lit textbook_crystals(const pulse_event& event,
                                      const made_calorimeter& calorimeter) {
  textbook_lit lit;
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
      if (energy < std::max(cut.crystal_threshold, 1)) continue;
      // Beyond these no event is in time.
      if (time < std::min(0, cut.event_from) + cut.crystal_from ||
          time > std::max(0, cut.event_to) + cut.crystal_to)
        continue;
      auto& mine = lit[input.index];
      mine = std::max(mine, std::pair(energy, time));
    }
  }
  return lit;
}

/// The mean time of the 32 ns that hold the most energy, of places 4 ns apart.
inline std::int64_t textbook_event_time(const textbook_lit& lit, const selection_constants& cut) {
  constexpr std::int64_t nanosecond = 128;
  std::int64_t most = 0;
  std::int64_t time = 0;
  for (std::int64_t end = cut.event_from + 4 * nanosecond; end <= cut.event_from + 256 * nanosecond;
       end += 4 * nanosecond) {
    std::int64_t energy = 0;
    std::int64_t weighted = 0;
    for (const auto& [crystal, what] : lit) {
      if (what.second < cut.event_from || what.second > cut.event_to) continue;
      if (what.second < end - 32 * nanosecond || what.second >= end) continue;
      energy += what.first;
      weighted += what.first * (what.second - cut.event_from);
    }
    if (energy <= most) continue;
    most = energy;
    time = cut.event_from + weighted / energy;
  }
  return time;
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
  const textbook_lit lit = textbook_crystals(event, calorimeter);
  const selection_constants& cut = calorimeter.constants;
  all.time = textbook_event_time(lit, cut);
  for (const auto& [crystal, what] : lit) {
    if (what.second < all.time + cut.crystal_from || what.second > all.time + cut.crystal_to)
      continue;
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
