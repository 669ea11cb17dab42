// SPDX-License-Identifier: Apache-2.0
// Where a datagram came from, as the kernel tells it beside the datagram.
#pragma once

#include <netinet/in.h>

#include <array>
#include <bit>
#include <cstring>
#include <optional>

#include "transport/format/source_list.hpp"

namespace l3 {

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
