// SPDX-License-Identifier: Apache-2.0
#include "transport/histograms/histogram_set.hpp"

#include <cmath>

#include <fmt/format.h>

#include "transport/format/l2.hpp"

namespace l3 {

namespace {

constexpr int records_of_a_fast_waveform = 4;

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
  if (c.quiet == 0) return std::nullopt;
  return std::sqrt(static_cast<double>(c.noise) / static_cast<double>(c.quiet) / (n * (n - 1)));
}

std::optional<double> occupancy_of(const channel_sums& c) {
  if (c.waveforms == 0) return std::nullopt;
  return static_cast<double>(c.lit) / static_cast<double>(c.waveforms);
}

std::optional<double> mean_time_of(const channel_sums& c) {
  constexpr double unit = 128; // of 1 ns
  if (c.timed == 0) return std::nullopt;
  return static_cast<double>(c.time) / static_cast<double>(c.timed) / unit;
}

} // namespace l3
