// SPDX-License-Identifier: Apache-2.0
// Finds hot inputs: their waveforms contain pulses most of the time, and far more often than other
// inputs of their counter. A counter with a high rate on all inputs, such as those in the beam, has
// no hot input. docs/selection.md explains the rule.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "transport/format/histograms.hpp"

namespace l3 {

struct hot_rule {
  std::uint64_t least_waveforms = 100; ///< inputs with fewer waveforms are not judged
  std::uint32_t above = 50;            ///< smallest percentage of an input's waveforms with a pulse
  std::uint32_t times_median = 5;      ///< smallest ratio to the usual share in its counter
};

enum class input_heat : std::uint8_t {
  unknown, ///< too few waveforms, or in no counter
  normal,
  hot
};

/// The heat of each input. `counters`: the counter of each input, the calorimeter being one;
/// nothing for an input that is dead or unused, which does not count for the others. The usual
/// share of a counter is the median over its inputs, the lower middle one of an even number.
[[nodiscard]] std::vector<input_heat>
heat_of(std::span<const channel_sums> channels,
        std::span<const std::optional<std::uint32_t>> counters, const hot_rule& rule);

} // namespace l3
