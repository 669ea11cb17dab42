// SPDX-License-Identifier: Apache-2.0
// Settings of receiving level-2 data and building events. The config room fills these structs.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "transport/format/readout.hpp"
#include "transport/format/source_list.hpp"
#include "transport/format/units.hpp"

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
};

struct udp_settings {
  std::string bind = "127.0.0.1"; ///< address; empty: no UDP input
  std::uint16_t port = 42000;     ///< the first
  std::uint16_t ports = 8;
  std::uint16_t threads = 1; ///< ports are dealt to threads in turn
  byte_size socket_buffer = mebibytes(16);
  source_list allow; ///< datagrams of other sources are refused
};

struct tcp_settings {
  std::string bind = "127.0.0.1"; ///< address; empty: no TCP input
  std::uint16_t port = 42100;
  std::uint16_t max_connections = 16;
  /// A connection without a whole record for so long makes way for another when no place is left.
  std::chrono::nanoseconds silence_limit = std::chrono::seconds(10);
  source_list allow; ///< connections of other sources are closed at once
};

} // namespace l3
