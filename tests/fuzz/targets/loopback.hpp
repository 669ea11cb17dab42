// SPDX-License-Identifier: Apache-2.0
// A connection over loopback, for the targets whose parser reads from a socket.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <span>
#include <string>

#include "tests/fuzz/targets/fuzz.hpp"

namespace l3::test {

class loopback_client {
public:
  explicit loopback_client(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons(port);
    require(::connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0,
            "somebody listens");
    const timeval patience{10, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    // Thousands of connections a second: none may wait for its port afterwards.
    const linger at_once{1, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  }
  ~loopback_client() { ::close(socket_); }
  loopback_client(const loopback_client&) = delete;
  loopback_client& operator=(const loopback_client&) = delete;

  void send(std::span<const std::byte> b) const {
    while (!b.empty()) {
      const auto n = ::send(socket_, b.data(), b.size(), MSG_NOSIGNAL);
      if (n <= 0) return; // closed: what was read says why
      b = b.subspan(static_cast<std::size_t>(n));
    }
  }
  void half_close() const { ::shutdown(socket_, SHUT_WR); }
  /// Until the other side closes.
  [[nodiscard]] std::string read_all() const {
    std::string all;
    char part[4096];
    for (;;) {
      const auto n = ::recv(socket_, part, sizeof part, 0);
      require(n >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK),
              "the other side comes to an end");
      if (n <= 0) return all;
      all.append(part, static_cast<std::size_t>(n));
    }
  }

private:
  int socket_;
};

} // namespace l3::test
