// SPDX-License-Identifier: Apache-2.0
// clear_histograms: a block per spill of the frame sets its counts of events to zero, and also the
// sums of inputs that no later kernel writes.
#pragma once

#include <cstdint>

#include "gpu/executors/block.hpp"
#include "selection/sequence/histogram_view.hpp"

namespace l3 {

struct clear_histograms {
  static constexpr std::uint32_t width = 256;
  struct shared {};

  template <block B>
  L3_FN void operator()(const B& b, shared&, histogram_view all, bool also_channels) const {
    std::uint32_t* const counts = all.counts(b.index());
    for_each(b, event_counts, [&](std::uint32_t i) { counts[i] = 0; });
    if (!also_channels) return;
    channel_sums* const channels = all.channels(b.index());
    for_each(b, all.inputs, [&](std::uint32_t i) { channels[i] = {}; });
  }
};

} // namespace l3
