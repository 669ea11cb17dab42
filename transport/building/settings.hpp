// SPDX-License-Identifier: Apache-2.0
// Settings of event building. The config room fills this struct.
#pragma once

#include <chrono>
#include <cstdint>

#include "transport/format/readout.hpp"

namespace l3 {

enum class incomplete_events : std::uint8_t { drop, forward };

struct building_settings {
  readout crates = readout::koto();
  std::uint32_t chunk_bytes = 8000;            ///< payload of a datagram; a multiple of 4
  std::uint32_t max_events_per_spill = 131072; ///< event numbers above are refused
  std::chrono::nanoseconds event_time_limit = std::chrono::milliseconds(1500);
  std::chrono::nanoseconds spill_time_limit =
      std::chrono::seconds(1); ///< silence that ends a spill
  incomplete_events incomplete = incomplete_events::drop;
  std::uint32_t parked_events = 128; ///< events that may wait for late fragments outside the frames

  /// Whether this is at least half of the crates.
  [[nodiscard]] constexpr bool is_half(std::size_t that_sent) const {
    return 2 * that_sent >= crates.crates.size();
  }
  /// Chunks of the longest fragment.
  [[nodiscard]] constexpr std::uint32_t max_chunks() const {
    return (l2::max_fragment_bytes + chunk_bytes - 1) / chunk_bytes;
  }
  /// Datagrams of an event with the longest fragments, with their trailers.
  [[nodiscard]] constexpr std::uint32_t most_datagrams() const {
    return (max_chunks() + 1) * static_cast<std::uint32_t>(crates.crates.size());
  }
};

} // namespace l3
