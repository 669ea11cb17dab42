// SPDX-License-Identifier: Apache-2.0
#include "tools/evaluate/stress_rows.hpp"

#include <algorithm>

namespace l3 {

simulated_effects stress_row::sizes() const {
  simulated_effects all;
  for (const auto& effect : effects)
    for (const auto& option : effect_options)
      if (option.name == effect.first) all.*option.size = effect.second;
  return all;
}

bool stress_row::same_particles() const {
  const simulated_effects e = sizes();
  const simulated_effects none;
  return e.accidentals == none.accidentals && e.beam_pile_up == none.beam_pile_up &&
         e.beam_tail == none.beam_tail && e.veto_inefficiency == none.veto_inefficiency &&
         e.backsplash == none.backsplash;
}

const std::vector<stress_row>& stress_rows() {
  static const std::vector<stress_row> rows{
      {"as_simulated", {}, 0.99},
      {"noise_board_2", {{"noise-board", 2}}},
      {"noise_board_5", {{"noise-board", 5}}},
      {"noise_crate_2", {{"noise-crate", 2}}},
      {"noise_crate_5", {{"noise-crate", 5}}},
      {"noise_white_3", {{"noise-white", 3}}},
      {"noise_white_6", {{"noise-white", 6}}},
      {"noise_filtered_3", {{"noise-filtered", 3}}},
      {"noise_filtered_6", {{"noise-filtered", 6}}},
      {"noise_x2", {{"noise-factor", 2}}},
      {"noise_x4", {{"noise-factor", 4}}, 0.90, 0.30},
      {"slope_5", {{"slope", 5}}},
      {"slope_20", {{"slope", 20}}},
      {"wander_5", {{"wander", 5}}},
      {"wander_20", {{"wander", 20}}},
      {"recovering_2", {{"recovering", 0.02}}},
      {"recovering_20", {{"recovering", 0.2}}, 0.90},
      {"undershoot_2", {{"undershoot", 0.02}}},
      {"tail_2", {{"undershoot", -0.02}}},
      {"early_16", {{"event-shift", -16}}},
      {"late_16", {{"event-shift", 16}}},
      {"event_jitter_1", {{"event-jitter", 1}}},
      {"event_jitter_3", {{"event-jitter", 3}}},
      {"crate_jitter_1", {{"crate-jitter", 1}}},
      {"crate_jitter_2", {{"crate-jitter", 2}}, 0.90}, // beyond the windows
      {"times_5", {{"time-spread", 5}}},
      {"times_10", {{"time-spread", 10}}},
      {"counter_times_2", {{"counter-time-spread", 2}}},
      {"counter_times_5", {{"counter-time-spread", 5}}},
      {"gains_10", {{"gain-spread", 0.1}, {"dead", 0.01}}},
      {"gains_20", {{"gain-spread", 0.2}, {"dead", 0.03}}},
      {"pulse_form_5", {{"pulse-spread", 0.05}}},
      {"pulse_form_10", {{"pulse-spread", 0.1}}},
      {"hot_0.2", {{"hot", 0.002}}, 0}, // hot inputs are not masked
      {"hot_1", {{"hot", 0.01}}, 0},
      {"stuck_0.2", {{"stuck", 0.002}}},
      {"stuck_1", {{"stuck", 0.01}}},
      {"saturation_8000", {{"saturation", 8000}}},
      {"saturation_4000", {{"saturation", 4000}}},
      {"full_scale_98", {{"full-scale", 0.977}}}, // 16000 counts
      {"full_scale_25", {{"full-scale", 0.25}}},
      {"accidentals_x5", {{"accidentals", 5}}},
      {"accidentals_x10", {{"accidentals", 10}}, 0.93},
      {"beam_x2", {{"beam-pile-up", 2}, {"beam-tail", 0.02}}},
      {"beam_x3", {{"beam-pile-up", 3}, {"beam-tail", 0.05}}},
      {"inefficient_1", {{"veto-inefficiency", 0.01}}},
      {"inefficient_5", {{"veto-inefficiency", 0.05}}},
      {"backsplash_0.3", {{"backsplash", 0.3}}},
      {"backsplash_1", {{"backsplash", 1}}},
  };
  return rows;
}

} // namespace l3
