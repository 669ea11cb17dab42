// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <string>

#include "transport/system/file_descriptor.hpp"

namespace l3 {

/// Whether a network card of this machine has this numeric IPv4 or IPv6 address now. True if the
/// system does not tell.
[[nodiscard]] inline bool is_local_address(const std::string& number) {
  sockaddr_storage address{};
  socklen_t bytes = sizeof(sockaddr_in);
  if (::inet_pton(AF_INET, number.c_str(), &reinterpret_cast<sockaddr_in&>(address).sin_addr) ==
      1) {
    address.ss_family = AF_INET;
  } else if (::inet_pton(AF_INET6, number.c_str(),
                         &reinterpret_cast<sockaddr_in6&>(address).sin6_addr) == 1) {
    address.ss_family = AF_INET6;
    bytes = sizeof(sockaddr_in6);
  } else {
    return false;
  }
  const file_descriptor s(::socket(address.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!s) return true;
  return ::bind(s.get(), reinterpret_cast<const sockaddr*>(&address), bytes) == 0 ||
         errno != EADDRNOTAVAIL;
}

/// Whether this numeric address is a multicast address, or the broadcast address of a local
/// network. The system lets a program listen there, but it would receive packets for others and
/// none for this machine.
[[nodiscard]] inline bool is_group_address(const std::string& number) {
  in6_addr v6{};
  if (::inet_pton(AF_INET6, number.c_str(), &v6) == 1) return IN6_IS_ADDR_MULTICAST(&v6);
  sockaddr_in v4{};
  if (::inet_pton(AF_INET, number.c_str(), &v4.sin_addr) != 1) return false;
  if (IN_MULTICAST(ntohl(v4.sin_addr.s_addr))) return true;
  // Connecting a datagram socket without SO_BROADCAST to such an address fails.
  v4.sin_family = AF_INET;
  v4.sin_port = htons(9);
  const file_descriptor s(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  return s && ::connect(s.get(), reinterpret_cast<const sockaddr*>(&v4), sizeof v4) != 0 &&
         errno == EACCES;
}

} // namespace l3
