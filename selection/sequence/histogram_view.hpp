// SPDX-License-Identifier: Apache-2.0
// Where the kernels count: an area for each spill of which the frame has events, with the sums of
// all inputs and the counts of events. The areas lie one below the other in front of the frame's
// results, the first one directly, so that the areas in use leave a device together with the
// results, by the same copy.
#pragma once

#include <cstddef>
#include <cstdint>

#include "transport/format/endian.hpp"
#include "transport/format/histograms.hpp"

namespace l3 {

struct histogram_view {
  std::byte* end = nullptr; ///< of the first area
  std::uint32_t inputs = 0; ///< of the readout; 0: nothing is counted
  std::uint32_t one_in = 1; ///< events give their channels' sums: see is_sampled()
  std::uint32_t spills = 0; ///< of the frame, as far as there is room
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
  /// The place of the area of a spill; `spills` if it has none.
  [[nodiscard]] L3_FN std::uint32_t place_of(std::uint32_t which) const {
    std::uint32_t place = 0;
    while (place < spills && spill[place] != which) ++place;
    return place;
  }
  /// Gives the spill an area if there is room for one more.
  void add(std::uint32_t which) {
    if (spills < max_frame_spills && place_of(which) == spills) spill[spills++] = which;
  }
};

} // namespace l3
