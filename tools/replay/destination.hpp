// SPDX-License-Identifier: Apache-2.0
// The destination and rate of a replay, and their command line forms.
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
  std::uint16_t ports = 1; ///< starting at `port`; UDP only

  [[nodiscard]] std::string text() const;
};

/// Parses udp://host:port, udp://host:port+n, tcp://host:port; IPv6 addresses are in brackets.
/// Throws std::invalid_argument.
[[nodiscard]] destination parse_destination(std::string_view text);

/// All destinations in the form of the command line.
[[nodiscard]] std::string text_of(const std::vector<destination>& all);

/// A socket address for system calls.
struct socket_address {
  sockaddr_storage storage{};
  socklen_t bytes = 0;

  [[nodiscard]] const sockaddr* get() const {
    return reinterpret_cast<const sockaddr*>(&storage); // type of the socket interface
  }
  void set_port(std::uint16_t port);
  [[nodiscard]] std::uint16_t port() const;
};

/// Looks up the host; the address has the first port. Throws std::runtime_error.
[[nodiscard]] socket_address resolve(const destination& d);

/// Units that several daemons get in turn.
enum class replay_share : std::uint8_t { by_event, by_spill };

struct replay_rate {
  enum class kind : std::uint8_t {
    recorded, ///< the file's spill structure
    events,   ///< per second
    bits,     ///< per second, of datagrams or records
    unlimited,
  } how = kind::recorded;
  double value = 0;
};

/// Parses 10000ev/s, 40Gb/s (also kb/s, Mb/s, b/s), max. Throws std::invalid_argument.
[[nodiscard]] replay_rate parse_rate(std::string_view text);

/// Parses 0.01 or 1%. Throws std::invalid_argument.
[[nodiscard]] double parse_probability(std::string_view text);

} // namespace l3
