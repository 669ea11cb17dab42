// SPDX-License-Identifier: Apache-2.0
// The memory in which kernels count: an area for each spill with events in the frame, with the
// sums of all inputs and the counts of events. The areas lie one below the other directly in front
// of the frame's results, so that the same copy moves the used areas and the results from a
// device.
#pragma once

#include <cstddef>
#include <cstdint>

#include "transport/format/endian.hpp"
#include "transport/format/histograms.hpp"

namespace l3 {

struct histogram_view {
  std::byte* end = nullptr; ///< of the first area
  std::uint32_t inputs = 0; ///< of the readout; 0: no histograms
  std::uint32_t one_in = 1; ///< events are sampled: see is_sampled()
  std::uint32_t spills = 0; ///< of the frame, up to the limit
  std::uint32_t spill[max_frame_spills] = {};

  [[nodiscard]] L3_FN static constexpr std::size_t bytes_of_area(std::uint32_t inputs) {
    constexpr std::size_t cache_line = 128;
    return round_up(inputs * sizeof(channel_sums) + event_counts * sizeof(std::uint32_t),
                    cache_line);
  }

  [[nodiscard]] L3_FN channel_sums* channels(std::uint32_t place) const {
    return reinterpret_cast<channel_sums*>(end - (place + 1) * bytes_of_area(inputs));
  }
  [[nodiscard]] L3_FN std::uint32_t* counts(std::uint32_t place) const {
    return reinterpret_cast<std::uint32_t*>(channels(place) + inputs);
  }
  /// The index of the area of a spill; `spills` if it has none.
  [[nodiscard]] L3_FN std::uint32_t place_of(std::uint32_t which) const {
    std::uint32_t place = 0;
    while (place < spills && spill[place] != which) ++place;
    return place;
  }
  /// Assigns an area to the spill if there is room.
  void add(std::uint32_t which) {
    if (spills < max_frame_spills && place_of(which) == spills) spill[spills++] = which;
  }
};

} // namespace l3
