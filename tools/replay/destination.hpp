// SPDX-License-Identifier: Apache-2.0
// Where a replay goes and how fast, and how a command line says it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <netinet/in.h>
#include <sys/socket.h>

namespace l3 {

struct destination {
  enum class protocol : std::uint8_t { udp, tcp } how = protocol::udp;
  std::string host;
  std::uint16_t port = 0;
  std::uint16_t ports = 1; ///< from `port` on; UDP only

  [[nodiscard]] std::string text() const;
};

/// udp://host:port, udp://host:port+n, tcp://host:port; an IPv6 address stands in brackets. Throws
/// std::invalid_argument.
[[nodiscard]] destination parse_destination(std::string_view text);

/// All of them, as on the command line.
[[nodiscard]] std::string text_of(const std::vector<destination>& all);

/// A socket address, ready to be passed to the system.
struct socket_address {
  sockaddr_storage storage{};
  socklen_t bytes = 0;

  [[nodiscard]] const sockaddr* get() const {
    return reinterpret_cast<const sockaddr*>(&storage); // as the socket interface wants it
  }
  void set_port(std::uint16_t port);
  [[nodiscard]] std::uint16_t port() const;
};

/// Looks up the host; the address carries the first port. Throws std::runtime_error.
[[nodiscard]] socket_address resolve(const destination& d);

/// What several daemons take in turn.
enum class replay_share : std::uint8_t { by_event, by_spill };

struct replay_rate {
  enum class kind : std::uint8_t {
    recorded, ///< the spill structure of the file
    events,   ///< per second
    bits,     ///< per second, of datagrams or records
    unlimited,
  } how = kind::recorded;
  double value = 0;
};

/// 10000ev/s, 40Gb/s (also kb/s, Mb/s, b/s), max. Throws std::invalid_argument.
[[nodiscard]] replay_rate parse_rate(std::string_view text);

/// 0.01 or 1%. Throws std::invalid_argument.
[[nodiscard]] double parse_probability(std::string_view text);

} // namespace l3
