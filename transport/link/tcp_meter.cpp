// SPDX-License-Identifier: Apache-2.0
#include "transport/link/tcp_meter.hpp"

#include <utility>

#include <fcntl.h>
#include <linux/tcp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "transport/link/peer_share.hpp"

namespace l3 {

std::optional<tcp_meter> tcp_meter::of(int descriptor, int lowest) {
  file_descriptor own(::fcntl(descriptor, F_DUPFD_CLOEXEC, lowest));
  int protocol = 0;
  socklen_t length = sizeof protocol;
  if (!own || ::getsockopt(own.get(), SOL_SOCKET, SO_PROTOCOL, &protocol, &length) != 0 ||
      protocol != IPPROTO_TCP)
    return std::nullopt;
  sockaddr_storage there{};
  length = sizeof there;
  if (::getpeername(own.get(), reinterpret_cast<sockaddr*>(&there), &length) != 0) there = {};
  return tcp_meter(std::move(own), there);
}

tcp_meter::reading tcp_meter::read() const {
  tcp_info info{};
  socklen_t length = sizeof info;
  if (::getsockopt(own_.get(), IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return {};
  // In this order, bytes that come in between make the number too small, and none makes it too
  // large.
  int waiting = 0;
  if (::ioctl(own_.get(), FIONREAD, &waiting) != 0 || waiting < 0) waiting = 0;
  const std::uint64_t in_kernel = static_cast<std::uint64_t>(waiting);
  const std::uint64_t received = info.tcpi_bytes_received;
  return {received - (in_kernel < received ? in_kernel : received), in_kernel > 0};
}

std::string tcp_meter::machine() const { return peer_at(there_); }

std::string tcp_meter::peer() const {
  char host[NI_MAXHOST];
  char port[NI_MAXSERV];
  if (::getnameinfo(reinterpret_cast<const sockaddr*>(&there_), sizeof there_, host, sizeof host,
                    port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return "a peer that has gone";
  const bool ipv6 = there_.ss_family == AF_INET6;
  return (ipv6 ? "[" + std::string(host) + "]" : std::string(host)) + ":" + port;
}

void tcp_meter::shut_down() const {
  // With a reset when it is closed: a peer that waits for room in a full window sees no other end.
  constexpr linger at_once{1, 0};
  (void)::setsockopt(own_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  (void)::shutdown(own_.get(), SHUT_RDWR);
}

} // namespace l3
