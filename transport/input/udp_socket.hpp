// SPDX-License-Identifier: Apache-2.0
// A bound UDP port with the largest receive buffer that the system grants, and the number of
// datagrams dropped for lack of room. Copies share the port: it stays bound and receives until the
// last copy is destroyed. One thread at a time reads from it.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

#include "transport/format/source_list.hpp"
#include "transport/format/units.hpp"
#include "transport/system/file_descriptor.hpp"

namespace l3 {

/// The fate of datagrams that are still in the sockets when a receiver stops.
enum class sockets_hold : std::uint8_t {
  what_to_take, ///< the receiver takes them
  what_to_leave ///< the next reader of the ports takes them from its copies
};

class udp_socket {
public:
  /// Throws std::runtime_error with address and port.
  udp_socket(const std::string& address, std::uint16_t port, byte_size buffer);

  [[nodiscard]] int descriptor() const { return descriptor_->get(); }
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] byte_size buffer() const { return buffer_; }

  /// Datagrams dropped since the last call of this function for any copy. The kernel counts
  /// gathered datagrams as one.
  [[nodiscard]] std::uint32_t take_dropped() const;

private:
  std::shared_ptr<file_descriptor> descriptor_;
  std::uint16_t port_ = 0;
  byte_size buffer_;
  std::shared_ptr<std::uint32_t> drops_told_ = std::make_shared<std::uint32_t>(0);
};

/// Memory for the length of gathered datagrams, which recvmsg writes.
struct alignas(cmsghdr) read_control {
  std::array<std::byte, CMSG_SPACE(sizeof(int))> bytes;
};
inline constexpr std::size_t longest_read = std::size_t{1} << 16;

/// The length of each datagram in a read of `bytes`; the last one may be shorter.
[[nodiscard]] std::size_t length_of_each(msghdr& read, std::size_t bytes);

/// The address of an IPv4 or IPv6 source.
using datagram_source = sockaddr_in6;

/// False for other address families, unless every source may send.
[[nodiscard]] inline bool may_send(const source_list& allow, const datagram_source& source) {
  if (allow.takes_everybody()) return true;
  if (source.sin6_family == AF_INET6)
    return allow.takes(
        ip_address::ipv6(std::bit_cast<std::array<std::uint8_t, 16>>(source.sin6_addr)));
  sockaddr_in of_ipv4;
  std::memcpy(&of_ipv4, &source, sizeof of_ipv4);
  return source.sin6_family == AF_INET &&
         allow.takes(ip_address::ipv4(ntohl(of_ipv4.sin_addr.s_addr)));
}

} // namespace l3
