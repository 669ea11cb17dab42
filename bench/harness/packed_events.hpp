// SPDX-License-Identifier: Apache-2.0
// The kept events of a frame's output as one range of bytes, to compare the outputs of executors.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "gpu/memory/frame.hpp"

namespace l3::bench {

/// Returns the packed events without the gaps between their extents. Events that lie outside the
/// output are left out.
[[nodiscard]] inline std::vector<std::byte> packed_events(std::span<const event_result> results,
                                                          std::span<const std::byte> output) {
  std::vector<std::byte> all;
  for (const event_result& r : results) {
    if (r.kept == 0 || r.offset > output.size() || r.bytes > output.size() - r.offset) continue;
    const auto packed = output.subspan(r.offset, r.bytes);
    all.insert(all.end(), packed.begin(), packed.end());
  }
  return all;
}

} // namespace l3::bench
