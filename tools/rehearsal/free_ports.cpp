// SPDX-License-Identifier: Apache-2.0
#include "tools/rehearsal/free_ports.hpp"

#include <random>
#include <stdexcept>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/udp.hpp>

namespace l3 {
namespace {

bool is_free(std::uint16_t port) {
  namespace asio = boost::asio;
  asio::io_context io;
  const auto address = asio::ip::make_address("127.0.0.1");
  boost::system::error_code error;
  const auto binds = [&](auto socket, const auto& endpoint) {
    socket.open(endpoint.protocol());
    socket.bind(endpoint, error);
    return !error;
  };
  return binds(asio::ip::udp::socket(io), asio::ip::udp::endpoint(address, port)) &&
         binds(asio::ip::tcp::socket(io), asio::ip::tcp::endpoint(address, port));
}

} // namespace

std::uint16_t free_ports(std::uint16_t count) {
  // Below the kernel's range for outgoing connections.
  constexpr std::uint16_t first = 10000;
  constexpr std::uint16_t last = 32000;
  constexpr int tries = 200;
  std::random_device random;
  for (int t = 0; t < tries; ++t) {
    const auto base = static_cast<std::uint16_t>(first + random() % (last - first - count));
    std::uint16_t n = 0;
    while (n < count && is_free(static_cast<std::uint16_t>(base + n))) ++n;
    if (n == count) return base;
  }
  throw std::runtime_error("no free ports on 127.0.0.1");
}

} // namespace l3
