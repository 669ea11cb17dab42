// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <string>

#include "transport/system/file_descriptor.hpp"

namespace l3 {

/// Whether a network card of this machine has this address of IPv4 or IPv6 now, given as a number.
/// True if it cannot be asked for.
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

} // namespace l3
