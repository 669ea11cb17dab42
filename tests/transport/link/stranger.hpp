// SPDX-License-Identifier: Apache-2.0
// A program that knocks at the port of a ZeroMQ socket and is no peer of it: a bare TCP connection
// over IPv4.
#pragma once

#include <array>
#include <chrono>
#include <string>
#include <string_view>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include "transport/system/file_descriptor.hpp"

namespace l3::test {

class stranger {
public:
  /// `endpoint` as tcp://127.0.0.1:PORT.
  explicit stranger(const std::string& endpoint)
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port =
        htons(static_cast<std::uint16_t>(std::stoul(endpoint.substr(endpoint.rfind(':') + 1))));
    EXPECT_EQ(::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
  }
  void say(std::string_view text) const {
    EXPECT_EQ(::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }
  /// The next so many bytes; fewer if the connection ends before.
  [[nodiscard]] std::string hear(std::size_t bytes) const {
    std::string text(bytes, '\0');
    text.resize(static_cast<std::size_t>(
        std::max<ssize_t>(0, ::recv(socket_.get(), text.data(), bytes, MSG_WAITALL))));
    return text;
  }
  /// Something came, or the connection ended, within this time.
  [[nodiscard]] bool is_answered(std::chrono::milliseconds within) const {
    pollfd p{socket_.get(), POLLIN, 0};
    return ::poll(&p, 1, static_cast<int>(within.count())) == 1;
  }
  /// The other end hung up within this time.
  [[nodiscard]] bool is_left(std::chrono::milliseconds within) const {
    std::array<char, 1024> said{};
    const auto end = std::chrono::steady_clock::now() + within;
    while (std::chrono::steady_clock::now() < end && is_answered(within))
      if (::recv(socket_.get(), said.data(), said.size(), 0) <= 0) return true;
    return false;
  }

private:
  file_descriptor socket_;
};

} // namespace l3::test
