// SPDX-License-Identifier: Apache-2.0
// Which inputs are hot: their waveforms hold pulses most of the time, and far more often than those
// of the other inputs of their counter do. A counter that as a whole sees very much, as those in
// the beam do, has no hot input. docs/selection.md has the rule for people.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "transport/format/histograms.hpp"

namespace l3 {

struct hot_rule {
  std::uint64_t least_waveforms = 100; ///< with fewer nothing is said of an input
  std::uint32_t above = 50;            ///< per cent of an input's waveforms have a pulse
  std::uint32_t times_median = 5; ///< and this many times the share that is usual in its counter
};

enum class input_heat : std::uint8_t {
  unknown, ///< too few waveforms, or in no counter
  normal,
  hot
};

/// The heat of each input. `counters`: the counter of each, the calorimeter being one; nothing: the
/// input is dead or carries nothing, and says nothing of the others. The usual share of a counter
/// is the median of its inputs, of an even number the lower one of the two in the middle.
[[nodiscard]] std::vector<input_heat>
heat_of(std::span<const channel_sums> channels,
        std::span<const std::optional<std::uint32_t>> counters, const hot_rule& rule);

} // namespace l3
