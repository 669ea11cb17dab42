// SPDX-License-Identifier: Apache-2.0
// What may stand for the host of an end of the output link. That data flows: link_test.
#include "transport/link/link_address.hpp"

#include <stdexcept>

#include <gtest/gtest.h>

namespace l3 {
namespace {

TEST(link_address, is_of_ipv6_with_colons_in_the_host) {
  EXPECT_TRUE(is_ipv6("tcp://[::1]:42200"));
  EXPECT_TRUE(is_ipv6("tcp://[fe80::1%eth0]:42200"));
  for (const char* other : {"tcp://127.0.0.1:42200", "tcp://*:42200", "tcp://node7:42200"})
    EXPECT_FALSE(is_ipv6(other)) << other;
}

TEST(link_address, is_a_machines_name_or_a_number_or_an_interface) {
  EXPECT_TRUE(names_a_machine("tcp://node7.example:42200"));
  for (const char* other : {"tcp://127.0.0.1:42200", "tcp://*:42200", "tcp://[::1]:42200",
                            "tcp://lo:42200", "ipc:///dev/shm/link"})
    EXPECT_FALSE(names_a_machine(other)) << other;
}

TEST(link_address, listens_at_the_number_of_a_name) {
  EXPECT_EQ(endpoint_to_listen_at("tcp://localhost:42200"), "tcp://127.0.0.1:42200");
  EXPECT_EQ(endpoint_to_listen_at("tcp://*:42200"), "tcp://*:42200");
  EXPECT_EQ(endpoint_to_listen_at("tcp://[::]:42200"), "tcp://[::]:42200");
  EXPECT_EQ(endpoint_to_listen_at("tcp://lo:42200"), "tcp://lo:42200");
  EXPECT_THROW((void)endpoint_to_listen_at("tcp://no-such-machine.invalid:42200"),
               std::runtime_error);
}

TEST(link_address, of_many_machines_is_none_to_listen_at) {
  for (const char* number :
       {"224.0.0.1", "239.255.255.255", "255.255.255.255", "127.255.255.255", "[ff02::1]"})
    EXPECT_THROW((void)endpoint_to_listen_at("tcp://" + std::string(number) + ":42200"),
                 std::runtime_error)
        << number;
  for (const char* number : {"0.0.0.0", "127.0.0.1", "127.77.0.1", "[::]", "[::1]", "203.0.113.7"})
    EXPECT_EQ(endpoint_to_listen_at("tcp://" + std::string(number) + ":42200"),
              "tcp://" + std::string(number) + ":42200");
}

} // namespace
} // namespace l3
