// SPDX-License-Identifier: Apache-2.0
#include "selection/detector/input_constants.hpp"

#include <cmath>

#include "selection/detector/random.hpp"

namespace l3 {
namespace {

/// The quantile u of a triangular distribution between the ends, with its peak near
/// `peak`.
double triangular(double least, double peak, double most, double u) {
  const double range = most - least;
  if (u * range < peak - least) return least + std::sqrt(u * range * (peak - least));
  return most - std::sqrt((1 - u) * range * (most - peak));
}

} // namespace

std::vector<input_constants> draw_input_constants(const detector& d) {
  const auto& figures = d.signals();
  random_source random(figures.seed);
  std::vector<input_constants> all(d.input_count());
  for (auto& c : all) {
    c.noise =
        triangular(figures.noise_min, figures.noise_typical, figures.noise_max, random.uniform());
    c.pedestal = random.uniform(figures.pedestal_min, figures.pedestal_max);
    c.time = figures.time_offset * random.gaussian();
  }
  return all;
}

} // namespace l3
