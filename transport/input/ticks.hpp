// SPDX-License-Identifier: Apache-2.0
// How often the receivers' threads look at the time limits of event building: every few
// milliseconds, but rarely while there is nothing that a limit could end. A daemon without input
// should cost nothing.
#pragma once

#include <chrono>

#include "transport/building/event_builder.hpp"

namespace l3 {

inline constexpr auto tick_period = std::chrono::milliseconds(2);
inline constexpr auto quiet_tick_period = std::chrono::milliseconds(100);

/// No event is open, and none waits for its batch to be submitted.
[[nodiscard]] inline bool is_quiet(const event_builder& builder) {
  return builder.open_fragments() == 0 && builder.batched_events() == 0;
}

} // namespace l3
