// SPDX-License-Identifier: Apache-2.0
// keep_all: the decision of a run without selection. One CUDA block per event marks the event
// as accepted. A selecting plan runs its algorithms instead
// (selection/engine/selecting_plan.hpp).
#pragma once

#include <cstdint>

#include "gpu/decode/packet.hpp"
#include "selection/packing/frame_columns.hpp"

namespace l3 {

struct keep_all {
  static constexpr std::uint32_t width = 32;

  struct shared {};

  template <block B>
  L3_FN void operator()(const B& b, shared&, const batch_view&, const frame_columns& out) const {
    for_each(b, 1, [&](std::uint32_t) { out.events.accepted[b.index()] = 1; });
  }
};

} // namespace l3
