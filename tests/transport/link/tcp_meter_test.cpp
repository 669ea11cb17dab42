// SPDX-License-Identifier: Apache-2.0
#include "transport/link/tcp_meter.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace l3::test {
namespace {

file_descriptor stream_socket() {
  return file_descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

sockaddr_in own_address(const file_descriptor& of) {
  sockaddr_in at{};
  socklen_t length = sizeof at;
  EXPECT_EQ(::getsockname(of.get(), reinterpret_cast<sockaddr*>(&at), &length), 0);
  return at;
}

TEST(tcp_meter, knows_the_other_end_also_when_it_has_gone) {
  const file_descriptor listens = stream_socket();
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::bind(listens.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
  ASSERT_EQ(::listen(listens.get(), 1), 0);
  at = own_address(listens);
  const file_descriptor far = stream_socket();
  ASSERT_EQ(::connect(far.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
  const std::string name = "127.0.0.1:" + std::to_string(ntohs(own_address(far).sin_port));
  const file_descriptor near(::accept4(listens.get(), nullptr, nullptr, SOCK_CLOEXEC));
  const auto meter = tcp_meter::of(near.get());
  ASSERT_TRUE(meter);
  EXPECT_EQ(meter->peer(), name);

  ASSERT_EQ(::shutdown(far.get(), SHUT_RDWR), 0);
  meter->shut_down();
  sockaddr_in other{};
  socklen_t length = sizeof other;
  ASSERT_NE(::getpeername(near.get(), reinterpret_cast<sockaddr*>(&other), &length), 0);
  EXPECT_EQ(meter->peer(), name);
  EXPECT_EQ(meter->machine(), "address 127.0.0.1");
}

TEST(tcp_meter, is_of_connections_over_tcp_only) {
  const file_descriptor datagrams(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  EXPECT_FALSE(tcp_meter::of(datagrams.get()));
  EXPECT_FALSE(tcp_meter::of(-1));
}

} // namespace
} // namespace l3::test
