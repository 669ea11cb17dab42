// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/input_faults.hpp"

#include <algorithm>
#include <cmath>

#include "selection/detector/random.hpp"

namespace l3 {
namespace {

constexpr std::uint64_t counters_stream = 1; // separate stream: inputs draw the same numbers

constexpr double least_factor = 0.05; // of a gain or a noise: keeps it positive at a large spread

input_fault::kind kind_of(double u, const simulated_effects& e) {
  if (u < e.dead) return input_fault::kind::dead;
  if (u < e.dead + e.hot) return input_fault::kind::hot;
  if (u < e.dead + e.hot + e.stuck) return input_fault::kind::stuck;
  return input_fault::kind::none;
}

/// All inputs of a counter have the same delay. The calorimeter has none, because it defines the
/// event's time.
void delay_counters(const detector& d, double spread, random_source random,
                    std::vector<input_fault>& all) {
  for (const veto& v : d.vetoes()) {
    const double later = spread * random.gaussian();
    for (const input_address at : v.inputs) all[d.number_of(at)].time += later;
  }
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
  delay_counters(d, effects.counter_time_spread, random_source(splitmix(seed + counters_stream)),
                 all);
  return all;
}

} // namespace l3
