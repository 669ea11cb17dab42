// SPDX-License-Identifier: Apache-2.0
// The times and types of a spill's triggers. The beam is on for 2 s of a cycle of 4.24 s. During
// this time triggers are a Poisson process, whose rate the beam's micro-structure changes between ×
// 0.3 and × 3. Any number of events is spread over the whole spill: 50 000 give the nominal 25 kHz,
// fewer are a node's share.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "selection/detector/random.hpp"
#include "tools/simulation/true_event.hpp"

namespace l3 {

inline constexpr std::chrono::nanoseconds spill_beam_on = std::chrono::milliseconds(2000);
inline constexpr std::chrono::nanoseconds spill_cycle = std::chrono::milliseconds(4240);

struct planned_event {
  std::chrono::nanoseconds since_spill{};
  event_type type = event_type::clock;
  bool on_spill = true;
};

/// The triggers by time, of the usual mixture, or all of one type.
[[nodiscard]] std::vector<planned_event> plan_spill(std::uint32_t events, random_source random,
                                                    std::optional<event_type> only = {});

} // namespace l3
