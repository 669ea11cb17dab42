// SPDX-License-Identifier: Apache-2.0
#include "transport/input/udp_socket.hpp"

#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <boost/asio/ip/udp.hpp>

namespace l3 {
namespace {

/// Sets the largest buffer up to `wanted` that the system grants, beyond net.core.rmem_max if the
/// process is allowed to.
std::uint64_t grow_buffer(int descriptor, std::uint64_t wanted) {
  const int size =
      static_cast<int>(std::min<std::uint64_t>(wanted, std::numeric_limits<int>::max() / 2));
  if (::setsockopt(descriptor, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size) != 0)
    ::setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
  int granted = 0;
  socklen_t length = sizeof granted;
  ::getsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &granted, &length);
  return static_cast<std::uint64_t>(granted) / 2; // the kernel doubles it for its bookkeeping
}

} // namespace

udp_socket::udp_socket(const std::string& address, std::uint16_t port, byte_size buffer)
    : port_(port) {
  const auto fail = [&](int error) {
    throw std::runtime_error("cannot receive UDP on " + address + ":" + std::to_string(port) +
                             ": " + std::generic_category().message(error));
  };
  boost::system::error_code no_address;
  boost::asio::ip::udp::endpoint where(boost::asio::ip::make_address(address, no_address), port);
  if (no_address)
    throw std::runtime_error("cannot receive UDP on " + address + ": not an IP address");
  constexpr int kind = SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
  descriptor_ = std::make_shared<file_descriptor>(::socket(where.protocol().family(), kind, 0));
  if (!*descriptor_) fail(errno);
  buffer_ = {grow_buffer(descriptor(), buffer.bytes)};
  auto length = static_cast<socklen_t>(where.size());
  if (::bind(descriptor(), where.data(), length) != 0) fail(errno);
  if (::getsockname(descriptor(), where.data(), &length) != 0) fail(errno);
  port_ = where.port();
}

std::uint32_t udp_socket::take_dropped() const {
  std::array<std::uint32_t, SK_MEMINFO_VARS> info{};
  socklen_t length = sizeof info;
  if (::getsockopt(descriptor(), SOL_SOCKET, SO_MEMINFO, info.data(), &length) != 0) return 0;
  const std::uint32_t dropped = info[SK_MEMINFO_DROPS];
  return dropped - std::exchange(*drops_told_, dropped); // wraps like the kernel's counter
}

std::size_t length_of_each(msghdr& read, std::size_t bytes) {
  const cmsghdr* gathered = CMSG_FIRSTHDR(&read); // the socket has no other option that sends one
  if (gathered == nullptr) return bytes;
  int length = 0;
  std::memcpy(&length, CMSG_DATA(gathered), sizeof length);
  return std::min(static_cast<std::size_t>(length), bytes);
}

} // namespace l3
