// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/input_faults.hpp"

#include <algorithm>
#include <cmath>

#include "selection/detector/random.hpp"

namespace l3 {
namespace {

constexpr double least_factor = 0.05; // of a gain or a noise: a large spread makes none negative

input_fault::kind kind_of(double u, const simulated_effects& e) {
  if (u < e.dead) return input_fault::kind::dead;
  if (u < e.dead + e.hot) return input_fault::kind::hot;
  if (u < e.dead + e.hot + e.stuck) return input_fault::kind::stuck;
  return input_fault::kind::none;
}

} // namespace

std::vector<input_fault> draw_input_faults(const detector& d, const simulated_effects& effects,
                                           std::uint64_t seed) {
  random_source random(seed);
  std::vector<input_fault> all(d.input_count());
  for (auto& f : all) {
    const auto factor = [&](double spread) {
      return std::max(1 + spread * random.gaussian(), least_factor);
    };
    f.what = kind_of(random.uniform(), effects);
    f.noise = effects.noise_factor * factor(effects.noise_spread);
    f.gain = factor(effects.gain_spread);
    f.time = effects.time_spread * random.gaussian();
    const double form = nominal_form + 2 * random.gaussian();
    f.form = static_cast<std::uint8_t>(
        std::clamp(std::floor(form + 0.5), 0.0, static_cast<double>(pulse_forms - 1)));
  }
  return all;
}

} // namespace l3
