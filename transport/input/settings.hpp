// SPDX-License-Identifier: Apache-2.0
// Settings of the receivers of level-2 data. The config room fills these structs.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "transport/format/source_list.hpp"
#include "transport/format/units.hpp"

namespace l3 {

/// How often the receivers' threads check the time limits of event building. They check rarely
/// while no limit is pending, so that an idle daemon costs nothing.
inline constexpr auto tick_period = std::chrono::milliseconds(2);
inline constexpr auto quiet_tick_period = std::chrono::milliseconds(100);

struct udp_settings {
  std::string bind = "127.0.0.1"; ///< address; empty: no UDP input
  std::uint16_t port = 42000;     ///< the first
  std::uint16_t ports = 8;
  std::uint16_t threads = 1; ///< ports are assigned to threads in turn
  byte_size socket_buffer = mebibytes(16);
  source_list allow; ///< datagrams of other sources are refused
};

struct tcp_settings {
  std::string bind = "127.0.0.1"; ///< address; empty: no TCP input
  std::uint16_t port = 42100;
  std::uint16_t max_connections = 16;
  std::uint16_t threads = 1; ///< connections are distributed among them
  source_list allow;         ///< connections of other sources are closed at once
};

} // namespace l3
