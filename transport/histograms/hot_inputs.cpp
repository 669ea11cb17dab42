// SPDX-License-Identifier: Apache-2.0
#include "transport/histograms/hot_inputs.hpp"

#include <algorithm>
#include <cstddef>
#include <map>

namespace l3 {
namespace {

double share_of(const channel_sums& c) {
  return static_cast<double>(c.lit) / static_cast<double>(c.waveforms);
}

double lower_median(std::vector<double>& of) {
  const auto middle = of.begin() + static_cast<std::ptrdiff_t>((of.size() - 1) / 2);
  std::nth_element(of.begin(), middle, of.end());
  return *middle;
}

} // namespace

std::vector<input_heat> heat_of(std::span<const channel_sums> channels,
                                std::span<const std::optional<std::uint32_t>> counters,
                                const hot_rule& rule) {
  constexpr double per_cent = 0.01;
  std::vector<input_heat> heat(channels.size(), input_heat::unknown);
  std::map<std::uint32_t, std::vector<double>> shares; // by counter
  for (std::size_t i = 0; i < channels.size(); ++i)
    if (counters[i] && channels[i].waveforms >= rule.least_waveforms)
      shares[*counters[i]].push_back(share_of(channels[i]));
  std::map<std::uint32_t, double> limits;
  for (auto& [counter, all] : shares)
    limits[counter] = std::max(per_cent * rule.above, rule.times_median * lower_median(all));
  for (std::size_t i = 0; i < channels.size(); ++i) {
    if (!counters[i] || channels[i].waveforms < rule.least_waveforms) continue;
    const bool hot = share_of(channels[i]) > limits.at(*counters[i]);
    heat[i] = hot ? input_heat::hot : input_heat::normal;
  }
  return heat;
}

} // namespace l3
