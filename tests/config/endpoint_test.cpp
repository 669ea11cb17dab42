// SPDX-License-Identifier: Apache-2.0
// What is taken for an end of the output link.
#include "config/endpoint.hpp"

#include <gtest/gtest.h>

namespace {

using namespace l3;

TEST(endpoint, is_a_host_with_a_port) {
  for (const char* good : {"tcp://127.0.0.1:42200", "tcp://*:1", "tcp://h:65535", "tcp://[::1]:9"})
    EXPECT_TRUE(is_endpoint(good)) << good;
  for (const char* bad : {"", "tcp://", "ipc://", "tcp://:1", "tcp://h", "tcp://h:", "tcp://h:0",
                          "tcp://h:65536", "tcp://127.0.0.1:99999", "tcp://h:1x", "tcp://h: 1",
                          "tcp://h:+1", "tcp://h:-1", "udp://h:1", "h:1", "42200", "ipc:///run/l3"})
    EXPECT_FALSE(is_endpoint(bad)) << bad;
}

TEST(endpoint, reads_a_port_and_nothing_else) {
  EXPECT_EQ(read_port("0"), 0);
  EXPECT_EQ(read_port("65535"), 65535);
  for (const char* bad : {"", "65536", "131072", "-1", "+1", " 1", "1 ", "0x1", "1.0"})
    EXPECT_FALSE(read_port(bad)) << bad;
}

} // namespace
