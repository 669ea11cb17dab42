// SPDX-License-Identifier: Apache-2.0
#include "transport/histograms/histogram_set.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "transport/format/l2.hpp"

namespace l3 {

namespace {

constexpr int records_of_a_fast_waveform = 4;

// The mean logarithm of the variance s² of n samples of white noise σ² differs from that of σ².
// With k = n − 1, k s²/σ² is distributed as χ² with k degrees of freedom. So ln s² has the mean ln
// σ² + ψ(k/2) − ln(k/2) and the variance ψ'(k/2): M. S. Bartlett and D. G. Kendall, Suppl. J. R.
// Stat. Soc. 8 (1946) 128. Here k = 7: ψ(7/2) = 46/15 − γ − 2 ln 2, and ψ'(7/2) = π²/2 − 1036/225.
static_assert(noise_samples == 8);
constexpr double octave = std::numbers::ln2;
constexpr double log_of_half = 1.252762968495368; // ln(k/2)
constexpr double white_bias =
    (46.0 / 15 - std::numbers::egamma - 2 * octave - log_of_half) / octave;
constexpr double white_variance =
    (std::numbers::pi * std::numbers::pi / 2 - 1036.0 / 225) / (octave * octave);

} // namespace

std::vector<std::string> input_addresses(const readout& crates) {
  std::vector<std::string> all;
  for (const crate_readout& crate : crates.crates) {
    const int channels = crate.kind == board_kind::sampling_125_mhz
                             ? l2::waveforms_per_board
                             : l2::waveforms_per_board / records_of_a_fast_waveform;
    for (int board = 0; board < crate.boards; ++board) {
      for (int c = 0; c < l2::waveforms_per_board; ++c)
        all.push_back(c < channels
                          ? fmt::format("{}/{}/{}", crate.number, l2::first_slot + board, c)
                          : std::string());
    }
  }
  return all;
}

std::optional<double> pedestal_of(const channel_sums& c) {
  constexpr double quarters = 4;
  if (c.waveforms == 0) return std::nullopt;
  return static_cast<double>(c.pedestal) / static_cast<double>(c.waveforms) / quarters;
}

std::optional<double> noise_of(const channel_sums& c) {
  constexpr double n = noise_samples;
  const auto log = mean_noise_log_of(c);
  if (!log) return std::nullopt;
  if (c.noise_log == 0) return 0.0; // all samples are equal
  return std::sqrt(std::exp2(log->value - white_bias) / (n * (n - 1)));
}

std::optional<double> occupancy_of(const channel_sums& c) {
  if (c.waveforms == 0) return std::nullopt;
  return static_cast<double>(c.lit) / static_cast<double>(c.waveforms);
}

std::optional<double> mean_time_of(const channel_sums& c) {
  constexpr double unit = 128; // per ns
  if (c.timed == 0) return std::nullopt;
  return static_cast<double>(c.time) / static_cast<double>(c.timed) / unit;
}

std::optional<mean_noise_log> mean_noise_log_of(const channel_sums& c) {
  constexpr double unit = noise_log_unit;
  if (c.quiet == 0) return std::nullopt;
  const auto n = static_cast<double>(c.quiet);
  const double mean = static_cast<double>(c.noise_log) / n / unit;
  const double square = static_cast<double>(c.noise_log_squares) / n / (unit * unit);
  return mean_noise_log{mean, std::max(white_variance, square - mean * mean) / n};
}

} // namespace l3
