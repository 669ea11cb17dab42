// SPDX-License-Identifier: Apache-2.0
// One bound UDP port with a receive buffer as large as the system grants, and the number of
// datagrams that it had no room for. Copies are the same port: it stays bound, and takes datagrams,
// until the last of them is gone. One thread at a time reads from it.
#pragma once

#include <netinet/in.h>

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include "transport/format/source_list.hpp"
#include "transport/format/units.hpp"
#include "transport/system/file_descriptor.hpp"

namespace l3 {

/// What becomes of datagrams that the sockets hold when a receiver stops.
enum class sockets_hold : std::uint8_t {
  what_to_take, ///< the receiver takes it
  what_to_leave ///< it is of the next reader of the ports, which has copies of them
};

class udp_socket {
public:
  /// Throws std::runtime_error that names address and port.
  udp_socket(const std::string& address, std::uint16_t port, byte_size buffer);

  [[nodiscard]] int descriptor() const { return descriptor_.get(); }
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] byte_size buffer() const { return buffer_; }

  /// Another owner of the same port. Throws std::system_error if the system has no descriptor left.
  [[nodiscard]] udp_socket copy() const;
  /// Datagrams for which there was no room since the last call of this function for any copy.
  [[nodiscard]] std::uint32_t take_dropped() const;

private:
  udp_socket() = default;

  file_descriptor descriptor_;
  std::uint16_t port_ = 0;
  byte_size buffer_;
  std::shared_ptr<std::uint32_t> drops_told_ = std::make_shared<std::uint32_t>(0);
};

/// Datagrams that the socket has dropped for want of room since it was opened: the number that
/// SO_RXQ_OVFL sends with each datagram, without waiting for one.
[[nodiscard]] std::uint32_t dropped_datagrams(int descriptor);

/// Room for the address of a source of either family.
using datagram_source = sockaddr_in6;

/// Nothing if it is of neither family.
[[nodiscard]] inline std::optional<ip_address> address_of(const datagram_source& source) {
  if (source.sin6_family == AF_INET6)
    return ip_address::ipv6(std::bit_cast<std::array<std::uint8_t, 16>>(source.sin6_addr));
  if (source.sin6_family != AF_INET) return std::nullopt;
  sockaddr_in of_ipv4;
  std::memcpy(&of_ipv4, &source, sizeof of_ipv4);
  return ip_address::ipv4(ntohl(of_ipv4.sin_addr.s_addr));
}

[[nodiscard]] inline bool may_send(const source_list& allow, const datagram_source& source) {
  if (allow.takes_everybody()) return true;
  const auto from = address_of(source);
  return from && allow.takes(*from);
}

} // namespace l3
