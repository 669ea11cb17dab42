// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/shower.hpp"

#include <algorithm>
#include <cmath>

namespace l3 {
namespace {

// Two exponential densities over the area. An exponential with length a has the fraction 1 − (1 +
// R/a) e^(−R/a) within R, so these have 91 % within 35 mm, the Molière radius of caesium iodide.
constexpr double core_length = 6; // mm
constexpr double tail_length = 28;
constexpr double tail_part = 0.12;
constexpr std::size_t most_crystals = 25;
constexpr std::size_t least_crystals = 6;
constexpr double least_energy = 0.5;      // in MeV; crystals below it are left out
constexpr double stochastic_term = 0.018; // σ/E at 1 GeV
constexpr double crystal_fluctuation = 0.05;

// A crystal's area is summed over cells: fine ones near the core, else its four quarters.
constexpr double near_core = 60; // mm
constexpr double fine_cell = 4.2;
constexpr int coarse_cells = 2; // per side

constexpr double first_of_track = 0.7; // fraction of the energy in the first of two crystals
constexpr double track_slope = 1.04;   // relative radius of the second one

} // namespace

shower_maker::shower_maker(const detector& d) : detector_(d) {
  constexpr double farthest = 2 * shower_reach; // a crystal's corners are farther than its centre
  for (int i = 0; i <= static_cast<int>(farthest) * steps_per_mm + 1; ++i) {
    const double r = static_cast<double>(i) / steps_per_mm;
    density_.push_back((1 - tail_part) / (core_length * core_length) *
                           exp_of_minus(r / core_length) +
                       tail_part / (tail_length * tail_length) * exp_of_minus(r / tail_length));
  }
}

double shower_maker::density_at(double distance) const {
  const double at = distance * steps_per_mm;
  const auto i = static_cast<std::size_t>(at);
  if (i + 1 >= density_.size()) return 0;
  return density_[i] + (at - static_cast<double>(i)) * (density_[i + 1] - density_[i]);
}

double shower_maker::weight_of(const crystal& c, double x, double y) const {
  const double away = std::max(std::abs(c.x - x), std::abs(c.y - y));
  const int cells = away < near_core ? static_cast<int>(c.size / fine_cell) : coarse_cells;
  const double cell = c.size / cells;
  double sum = 0;
  for (int i = 0; i < cells; ++i)
    for (int j = 0; j < cells; ++j) {
      const double dx = c.x - c.size / 2 + (i + 0.5) * cell - x;
      const double dy = c.y - c.size / 2 + (j + 0.5) * cell - y;
      sum += density_at(std::sqrt(dx * dx + dy * dy));
    }
  return sum * cell * cell;
}

void shower_maker::into_crystal(std::size_t index, double energy, double time,
                                std::vector<signal>& out) const {
  const auto& c = detector_.crystals()[index];
  if (!c.dead) out.push_back({detector_.number_of(c.at), energy * c.counts_per_mev, time});
}

double shower_maker::into_calorimeter(double energy, double x, double y, double time,
                                      random_source& random, std::vector<signal>& out) {
  shares_.clear();
  const auto& crystals = detector_.crystals();
  for (std::uint32_t i = 0; i < crystals.size(); ++i) {
    const auto& c = crystals[i];
    const double dx = c.x - x;
    const double dy = c.y - y;
    if (dx * dx + dy * dy > shower_reach * shower_reach) continue;
    shares_.push_back({weight_of(c, x, y), i});
  }
  if (shares_.empty()) return 0;
  std::sort(shares_.begin(), shares_.end(), [](const share& a, const share& b) {
    return a.weight != b.weight ? a.weight > b.weight : a.crystal < b.crystal;
  });
  if (shares_.size() > most_crystals) shares_.resize(most_crystals);

  double sum = 0;
  for (const auto& s : shares_) sum += s.weight;
  while (shares_.size() > least_crystals && shares_.back().weight / sum * energy < least_energy) {
    sum -= shares_.back().weight;
    shares_.pop_back();
  }
  sum = 0;
  for (auto& s : shares_) {
    s.weight *= 1 + crystal_fluctuation * random.gaussian();
    sum += s.weight;
  }
  constexpr double gev = 1000;
  const double seen =
      std::max(energy * (1 + stochastic_term * std::sqrt(gev / energy) * random.gaussian()), 0.0);
  for (const auto& s : shares_) into_crystal(s.crystal, s.weight / sum * seen, time, out);
  return seen;
}

void shower_maker::along_track(double energy, double x, double y, double time,
                               std::vector<signal>& out) const {
  const auto leave = [&](double part, double at_x, double at_y) {
    const auto& crystals = detector_.crystals();
    for (std::size_t i = 0; i < crystals.size(); ++i) {
      const auto& c = crystals[i];
      if (std::abs(c.x - at_x) > c.size / 2 || std::abs(c.y - at_y) > c.size / 2) continue;
      return into_crystal(i, part * energy, time, out);
    }
  };
  leave(first_of_track, x, y);
  leave(1 - first_of_track, x * track_slope, y * track_slope);
}

void shower_maker::into_veto(const true_hit& hit, std::vector<signal>& out) const {
  const auto& v = detector_.vetoes()[hit.veto];
  const auto& figures = detector_.signals();
  for (std::uint32_t end = 0; end < v.ends; ++end) {
    const std::size_t i = hit.module * v.ends + end;
    if (v.dead[i]) continue;
    double height = hit.energy * v.counts_per_unit / v.ends;
    double time = hit.time + v.delay;
    if (v.ends == 2 && v.length > 0) {
      // The first end is upstream: a hit with larger z is farther from it.
      const double away = end == 0 ? hit.z : -hit.z;
      const double grown = exp_of_minus(std::abs(away) / figures.attenuation_length);
      height = away > 0 ? height * grown : height / grown;
      time += away / figures.light_speed;
    }
    out.push_back({detector_.number_of(v.inputs[i]), height, time});
  }
}

} // namespace l3
