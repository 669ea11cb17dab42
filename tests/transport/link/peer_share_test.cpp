// SPDX-License-Identifier: Apache-2.0
// Which addresses are one peer. That a key is: system/shares.py.
#include "transport/link/peer_share.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

namespace l3 {
namespace {

std::string peer_at_ipv6(const char* text) {
  sockaddr_storage storage{};
  auto& address = reinterpret_cast<sockaddr_in6&>(storage);
  address.sin6_family = AF_INET6;
  EXPECT_EQ(::inet_pton(AF_INET6, text, &address.sin6_addr), 1) << text;
  return peer_at(storage);
}

TEST(peer_share, is_a_networks_of_ipv6) {
  EXPECT_EQ(peer_at_ipv6("2001:db8::1"), "address 2001:db8::/64");
  EXPECT_EQ(peer_at_ipv6("2001:db8::ffff:1:2:3"), peer_at_ipv6("2001:db8::1"));
  EXPECT_NE(peer_at_ipv6("2001:db8:0:1::1"), peer_at_ipv6("2001:db8::1"));
}

TEST(peer_share, is_an_addresss_of_ipv4_in_either_form) {
  sockaddr_storage storage{};
  auto& address = reinterpret_cast<sockaddr_in&>(storage);
  address.sin_family = AF_INET;
  EXPECT_EQ(::inet_pton(AF_INET, "10.1.0.7", &address.sin_addr), 1);
  EXPECT_EQ(peer_at(storage), "address 10.1.0.7");
  EXPECT_EQ(peer_at_ipv6("::ffff:10.1.0.7"), "address 10.1.0.7");
  EXPECT_NE(peer_at_ipv6("::ffff:10.1.0.8"), "address 10.1.0.7");
}

} // namespace
} // namespace l3
