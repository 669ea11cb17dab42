// SPDX-License-Identifier: Apache-2.0
// The names of the bits of the trigger word in settings and tables.
#pragma once

#include <array>
#include <string_view>

#include "selection/detector/detector.hpp"

namespace l3 {

struct trigger_name {
  std::string_view name;
  trigger_bit bit;
};

inline constexpr std::array<trigger_name, 11> trigger_names{{
    {"two_clusters", trigger_two_clusters},
    {"four_clusters", trigger_four_clusters},
    {"five_clusters", trigger_five_clusters},
    {"six_clusters", trigger_six_clusters},
    {"minimum_bias", trigger_minimum_bias},
    {"accidental", trigger_accidental},
    {"led", trigger_led},
    {"laser", trigger_laser},
    {"cosmic", trigger_cosmic},
    {"clock", trigger_clock},
    {"on_spill", trigger_on_spill},
}};

} // namespace l3
