// SPDX-License-Identifier: Apache-2.0
#include "selection/detector/pulse_response.hpp"

#include <span>

#include "selection/algorithms/pulse_window.hpp"
#include "selection/detector/pulse_form.hpp"

namespace l3 {
namespace {

/// The response to one pulse whose peak lies `phase` samples behind the highest sample.
pulse_response response_to(const pulse_form& form, pulse_window window, double sample,
                           double phase) {
  const auto height_at = [&](int k) { return form.at((k - phase) * sample); };
  const auto before = static_cast<int>(window.before_peak);
  const auto after = static_cast<int>(window.after_peak);
  pulse_response r;
  for (int k = -before; k < after; ++k) r.sum += height_at(k);

  const double half = height_at(0) / 2;
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
  const pulse_window window =
      kind == board_kind::sampling_125_mhz ? slow_pulse_window() : fast_pulse_window();
  pulse_response mean;
  for (const auto& form : forms)
    for (int p = 0; p < phases; ++p) {
      const auto r = response_to(form, window, sample_length(kind), (p + 0.5) / phases - 0.5);
      mean.sum += r.sum;
      mean.lead += r.lead;
    }
  const auto n = static_cast<double>(forms.size()) * phases;
  return {mean.sum / n, mean.lead / n};
}

} // namespace l3
