// SPDX-License-Identifier: Apache-2.0
// The sums of an input, by the names that documents give them.
#pragma once

#include <array>

#include "transport/format/histograms.hpp"

namespace l3 {

struct sum_column {
  const char* name;
  std::uint64_t channel_sums::*of;
};

/// All but `time`, which has a sign.
inline constexpr std::array sum_columns{
    sum_column{"waveforms", &channel_sums::waveforms},
    sum_column{"lit", &channel_sums::lit},
    sum_column{"timed", &channel_sums::timed},
    sum_column{"quiet", &channel_sums::quiet},
    sum_column{"pedestal", &channel_sums::pedestal},
    sum_column{"pedestal_squares", &channel_sums::pedestal_squares},
    sum_column{"noise_log", &channel_sums::noise_log},
    sum_column{"noise_log_squares", &channel_sums::noise_log_squares}};

} // namespace l3
