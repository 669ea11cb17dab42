// SPDX-License-Identifier: Apache-2.0
// Computes the quantities of an event from their definitions in transport/format/summary.hpp and
// docs/selection.md, in the plainest code.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "selection/algorithms/rounding.hpp"
#include "selection/algorithms/vertex.hpp"
#include "selection/sequence/slots.hpp"
#include "selection/sequence/tables.hpp"

namespace l3::test {

/// The output of find_clusters for an event.
struct clustered_event {
  std::int32_t energy = 0;
  std::uint16_t crystals = 0;
  std::uint16_t found = 0; ///< number of clusters; the list may hold fewer
  std::vector<photon_summary> clusters;
  std::int32_t time = 0; ///< the event's
};

/// All quantities but vertex and momentum, which have tests of their own.
inline event_summary textbook_summary(const clustered_event& event,
                                      const selection_constants& cut) {
  const auto floor_root = [](std::int64_t n) { // bit by bit
    std::int64_t root = 0;
    for (std::int64_t bit = std::int64_t{1} << 31; bit != 0; bit /= 2) {
      if ((root + bit) * (root + bit) <= n) root += bit;
    }
    return root;
  };
  const auto floor_divide = [](std::int64_t a, std::int64_t b) {
    return (a - ((a % b) + b) % b) / b;
  };
  const auto fit = [](std::int64_t n) {
    return static_cast<std::int32_t>(
        std::clamp<std::int64_t>(n, -std::int64_t{INT32_MAX}, INT32_MAX));
  };

  std::vector<photon_summary> photons;
  for (photon_summary c : event.clusters) {
    const std::int64_t scaled = floor_divide(std::int64_t{c.energy} * cut.photon_scale, 65536);
    std::int64_t lacking = 0;
    for (std::uint32_t k = 0; k < cut.correction_points; ++k) {
      const energy_point to = cut.correction[k];
      if (k == 0 || scaled >= to.energy) lacking = to.lacking;
      if (k == 0 || scaled >= to.energy || scaled <= cut.correction[k - 1].energy) continue;
      const energy_point from = cut.correction[k - 1];
      lacking = from.lacking + floor_divide((scaled - from.energy) * (to.lacking - from.lacking),
                                            to.energy - from.energy);
    }
    c.energy = fit(scaled + lacking);
    const std::int64_t since = std::int64_t{c.time} - event.time;
    if (c.energy >= std::max(cut.photon_threshold, 1) && since >= cut.photon_from &&
        since <= cut.photon_to)
      photons.push_back(c);
  }
  std::stable_sort(photons.begin(), photons.end(),
                   [](const auto& a, const auto& b) { return a.energy > b.energy; });

  event_summary s;
  const auto n = photons.size();
  std::int32_t* const q = s.quantity;
  std::fill_n(q, quantities, undefined_quantity);
  const auto of = [&](quantity what) -> std::int32_t& { return q[static_cast<std::size_t>(what)]; };
  of(quantity::calorimeter_energy) = event.energy;
  of(quantity::crystals) = event.crystals;
  of(quantity::clusters) = event.found;
  of(quantity::photons) = static_cast<std::int32_t>(n);
  of(quantity::event_time) = event.time;
  s.photons_found = static_cast<std::uint16_t>(n);
  s.photons = static_cast<std::uint8_t>(std::min<std::size_t>(n, max_summary_photons));
  std::copy_n(photons.begin(), s.photons, s.photon);
  if (event.found > clusters::max_clusters) s.status |= too_many_clusters;
  if (n > max_summary_photons) s.status |= more_photons;
  if (n == 0) return s;

  std::vector<std::int64_t> energies, times, inner, radii, distances;
  std::int64_t sum_x = 0;
  std::int64_t sum_y = 0;
  std::int64_t sum = 0;
  for (std::size_t k = 0; k < n; ++k) {
    const std::int64_t x = photons[k].x;
    const std::int64_t y = photons[k].y;
    energies.push_back(photons[k].energy);
    times.push_back(photons[k].time);
    inner.push_back(std::max(std::abs(x), std::abs(y)));
    radii.push_back(floor_root(x * x + y * y));
    sum += photons[k].energy;
    sum_x += x * photons[k].energy;
    sum_y += y * photons[k].energy;
    for (std::size_t j = 0; j < n; ++j) {
      const std::int64_t dx = x - photons[j].x;
      const std::int64_t dy = y - photons[j].y;
      if (j != k) distances.push_back(floor_root(dx * dx + dy * dy));
    }
  }
  const auto least = [](const auto& v) { return *std::min_element(v.begin(), v.end()); };
  const auto most = [](const auto& v) { return *std::max_element(v.begin(), v.end()); };
  const std::int64_t x = floor_divide(sum_x, sum);
  const std::int64_t y = floor_divide(sum_y, sum);
  of(quantity::photon_energy) = fit(sum);
  of(quantity::photon_energy_min) = fit(least(energies));
  of(quantity::photon_energy_max) = fit(most(energies));
  of(quantity::photon_inner) = fit(least(inner));
  of(quantity::photon_radius) = fit(most(radii));
  of(quantity::centre_radius) = fit(floor_root(x * x + y * y));
  if (n < 2) return s;
  of(quantity::photon_distance) = fit(least(distances));
  of(quantity::photon_time_spread) = fit(most(times) - least(times));
  if (n > 2) return s;

  const double one[] = {static_cast<double>(photons[0].x), static_cast<double>(photons[0].y)};
  const double two[] = {static_cast<double>(photons[1].x), static_cast<double>(photons[1].y)};
  const double lengths =
      std::sqrt(one[0] * one[0] + one[1] * one[1]) * std::sqrt(two[0] * two[0] + two[1] * two[1]);
  if (lengths != 0) {
    of(quantity::opening) = static_cast<std::int32_t>(
        std::floor(1000 * (one[0] * two[0] + one[1] * two[1]) / lengths + 0.5));
  }
  const pion_decay decay =
      find_pion_decay({static_cast<double>(photons[0].energy), one[0], one[1]},
                      {static_cast<double>(photons[1].energy), two[0], two[1]});
  if (!decay.found) return s;
  of(quantity::vertex_z) = nearest(cut.front - decay.distance);
  of(quantity::transverse_momentum) = nearest(decay.transverse_momentum);
  return s;
}

} // namespace l3::test
