// SPDX-License-Identifier: Apache-2.0
// One bound UDP port with a receive buffer as large as the system grants, and the number of
// datagrams that it had no room for.
#pragma once

#include <cstdint>
#include <string>

#include "transport/format/units.hpp"

namespace l3 {

class udp_socket {
public:
  /// Throws std::runtime_error that names address and port.
  udp_socket(const std::string& address, std::uint16_t port, byte_size buffer);
  ~udp_socket();
  udp_socket(udp_socket&& other) noexcept;
  udp_socket& operator=(udp_socket&& other) noexcept;

  [[nodiscard]] int descriptor() const { return descriptor_; }
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] byte_size buffer() const { return buffer_; }

private:
  int descriptor_ = -1;
  std::uint16_t port_ = 0;
  byte_size buffer_;
};

/// Datagrams that the socket has dropped for want of room since it was opened: the number that
/// SO_RXQ_OVFL sends with each datagram, without waiting for one.
[[nodiscard]] std::uint32_t dropped_datagrams(int descriptor);

} // namespace l3
