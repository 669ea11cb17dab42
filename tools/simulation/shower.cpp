// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/shower.hpp"

#include <algorithm>
#include <cmath>

namespace l3 {
namespace {

constexpr double shower_length = 30; // mm, of the exponential
constexpr double shower_reach = 110; // mm
constexpr std::size_t most_crystals = 25;
constexpr std::size_t least_crystals = 6;
constexpr double least_energy = 0.5;      // MeV: a crystal below it is left out
constexpr double stochastic_term = 0.018; // σ/E at 1 GeV
constexpr double crystal_fluctuation = 0.05;

/// Light from a crystal's area: the exponential at the middles of its four quarters.
double weight_of(const crystal& c, double x, double y) {
  double sum = 0;
  for (const double dx : {-0.25, 0.25})
    for (const double dy : {-0.25, 0.25}) {
      const double ox = c.x + dx * c.size - x;
      const double oy = c.y + dy * c.size - y;
      sum += exp_of_minus(std::sqrt(ox * ox + oy * oy) / shower_length);
    }
  return sum * c.size * c.size;
}

} // namespace

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

void shower_maker::into_veto(const true_hit& hit, std::vector<signal>& out) const {
  const auto& v = detector_.vetoes()[hit.veto];
  const auto& figures = detector_.signals();
  for (std::uint32_t end = 0; end < v.ends; ++end) {
    const std::size_t i = hit.module * v.ends + end;
    if (v.dead[i]) continue;
    double height = hit.energy * v.counts_per_unit / v.ends;
    double time = hit.time;
    if (v.ends == 2 && v.length > 0) {
      // The upstream end is the first: the larger z, the farther it is.
      const double away = end == 0 ? hit.z : -hit.z;
      const double grown = exp_of_minus(std::abs(away) / figures.attenuation_length);
      height = away > 0 ? height * grown : height / grown;
      time += away / figures.light_speed;
    }
    out.push_back({detector_.number_of(v.inputs[i]), height, time});
  }
}

} // namespace l3
