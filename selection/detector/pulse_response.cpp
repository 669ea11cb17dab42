// SPDX-License-Identifier: Apache-2.0
#include "selection/detector/pulse_response.hpp"

#include <algorithm>
#include <span>

#include "selection/algorithms/pulse_window.hpp"
#include "selection/detector/pulse_form.hpp"

namespace l3 {
namespace {

/// Four samples of a mean, as in level_of.
constexpr int level_samples = level_window::samples;

/// The response to a pulse whose peak is `phase` samples after the highest sample.
pulse_response response_to(const pulse_form& form, board_kind kind, double phase) {
  const bool is_slow = kind == board_kind::sampling_125_mhz;
  const double sample = sample_length(kind);
  const auto height_at = [&](int k) { return form.at((k - phase) * sample); };
  const auto mean_from = [&](int first) {
    double sum = 0;
    for (int k = first; k < first + level_samples; ++k) sum += height_at(k);
    return sum / level_samples;
  };
  const level_window window = is_slow ? slow_level_window() : fast_level_window();
  const double level = std::min(mean_from(-static_cast<int>(window.before_peak)),
                                mean_from(static_cast<int>(window.after_peak)));
  pulse_response r;
  if (is_slow) {
    const auto all = static_cast<int>(slow_energy_window::all);
    const int first =
        -static_cast<int>(slow_energy_window::before_peak + slow_energy_window::middle);
    for (int k = 0; k < all; ++k)
      r.sum += slow_energy_window::weight(static_cast<std::uint32_t>(k)) * height_at(first + k);
  } else {
    const int first = -static_cast<int>(fast_energy_window::before_peak);
    const int end = first + static_cast<int>(fast_energy_window::samples);
    for (int k = first; k < end; ++k) r.sum += height_at(k) - level;
  }

  const double half = (height_at(0) + (is_slow ? level : 0)) / 2;
  int k = -1;
  while (height_at(k) >= half) --k;
  const double crossing = k + (half - height_at(k)) / (height_at(k + 1) - height_at(k));
  r.lead = (phase - crossing) * sample;
  return r;
}

} // namespace

pulse_response response_of(board_kind kind) {
  constexpr int phases = 64;
  const std::span<const pulse_form> forms = kind == board_kind::sampling_125_mhz
                                                ? std::span(&slow_pulse_form, 1)
                                                : std::span<const pulse_form>(fast_pulse_forms);
  pulse_response mean;
  for (const auto& form : forms)
    for (int p = 0; p < phases; ++p) {
      const auto r = response_to(form, kind, (p + 0.5) / phases - 0.5);
      mean.sum += r.sum;
      mean.lead += r.lead;
    }
  const auto n = static_cast<double>(forms.size()) * phases;
  return {mean.sum / n, mean.lead / n};
}

} // namespace l3
