// SPDX-License-Identifier: Apache-2.0
// What is taken for an end of the output link.
#include "config/endpoint.hpp"

#include <gtest/gtest.h>

namespace {

using namespace l3;

TEST(endpoint, is_a_host_with_a_port) {
  for (const char* good : {"tcp://127.0.0.1:42200", "tcp://*:1", "tcp://h:65535", "tcp://[::1]:9"})
    EXPECT_TRUE(is_endpoint(good)) << good;
  for (const char* bad : {"",
                          "tcp://",
                          "ipc://",
                          "tcp://:1",
                          "tcp://h",
                          "tcp://h:",
                          "tcp://h:0",
                          "tcp://h:65536",
                          "tcp://127.0.0.1:99999",
                          "tcp://h:1x",
                          "tcp://h: 1",
                          "tcp://h:+1",
                          "tcp://h:-1",
                          "tcp://h\n:1",
                          "tcp://h h:1",
                          "tcp://\x1b[2J:1",
                          "udp://h:1",
                          "h:1",
                          "42200",
                          "ipc:///run/l3"})
    EXPECT_FALSE(is_endpoint(bad)) << bad;
  const auto of_length = [](std::size_t n) { return "tcp://" + std::string(n - 8, 'h') + ":1"; };
  EXPECT_TRUE(is_endpoint(of_length(300)));
  EXPECT_FALSE(is_endpoint(of_length(301)));
}

TEST(endpoint, is_a_destination_if_it_has_a_host_to_connect_to) {
  for (const char* good : {"tcp://127.0.0.1:42200", "tcp://h:1", "tcp://[::1]:9", "tcp://::1:9",
                           "tcp://[fe80::1%eth0]:9", "tcp://node_1.koto.jp:1"})
    EXPECT_TRUE(is_endpoint(good) && is_destination(good)) << good;
  for (const char* bad : {"tcp://*:42200", "tcp://~h:1", "tcp://h*:1", "tcp://a/b:1", "tcp://;:1",
                          "tcp://.:1", "tcp://]:1", "tcp://%:1", "tcp://[]:1"})
    EXPECT_TRUE(is_endpoint(bad) && !is_destination(bad)) << bad;
}

TEST(endpoint, reads_a_port_and_nothing_else) {
  EXPECT_EQ(read_port("0"), 0);
  EXPECT_EQ(read_port("65535"), 65535);
  for (const char* bad : {"", "65536", "131072", "-1", "+1", " 1", "1 ", "0x1", "1.0"})
    EXPECT_FALSE(read_port(bad)) << bad;
}

TEST(endpoint, reads_an_address_or_a_name_with_a_port) {
  for (const char* good :
       {"127.0.0.1:0", "[::1]:9420", "localhost:80", "node-1.koto.jp:42000", "daq_1:80"}) {
    const auto at = read_address(good);
    ASSERT_TRUE(at) << good;
    EXPECT_EQ(text_of(*at), good);
  }
  for (const char* bad :
       {"", ":", ":80", "::1:80", "[127.0.0.1]:80", "[localhost]:80", "300.1.1.1:80", "1.2.3:80",
        "0x7f000001:80", "a.:80", "a b:80", "-a:80", ".a:80", "a\n:80", "a", "a:65536"})
    EXPECT_FALSE(read_address(bad)) << bad;
  EXPECT_FALSE(read_address(std::string(254, 'a') + ":80"));
  EXPECT_TRUE(is_number("::1") && is_number("10.1.0.1"));
  EXPECT_FALSE(is_number("localhost") || is_number(""));
}

} // namespace
