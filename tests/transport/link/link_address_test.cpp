// SPDX-License-Identifier: Apache-2.0
// What may stand for the host of an end of the output link. That data flows: link_test.
#include "transport/link/link_address.hpp"

#include <stdexcept>

#include <gtest/gtest.h>

namespace l3 {
namespace {

TEST(link_address, is_a_number_a_name_or_an_interface) {
  struct {
    const char* host;
    bool ipv6, name;
    const char* listens; ///< null: nobody can listen there
  } const all[] = {
      {"[::1]", true, false, "[::1]"},
      {"[::]", true, false, "[::]"},
      {"[fe80::1%eth0]", true, false, "[fe80::1%eth0]"},
      {"*", false, false, "*"},
      {"lo", false, true, "lo"},
      {"0.0.0.0", false, false, "0.0.0.0"},
      {"127.77.0.1", false, false, "127.77.0.1"},
      {"203.0.113.7", false, false, "203.0.113.7"},
      {"localhost", false, true, "127.0.0.1"},
      {"no-such-machine.invalid", false, true, nullptr},
      // of many machines
      {"224.0.0.1", false, false, nullptr},
      {"239.255.255.255", false, false, nullptr},
      {"255.255.255.255", false, false, nullptr},
      {"127.255.255.255", false, false, nullptr},
      {"[ff02::1]", true, false, nullptr},
  };
  for (const auto& a : all) {
    const auto at = [](const std::string& host) { return "tcp://" + host + ":42200"; };
    EXPECT_EQ(is_ipv6(at(a.host)), a.ipv6) << a.host;
    EXPECT_EQ(names_a_machine(at(a.host)), a.name) << a.host;
    if (a.listens != nullptr) {
      EXPECT_EQ(endpoint_to_listen_at(at(a.host)), at(a.listens));
    } else {
      EXPECT_THROW((void)endpoint_to_listen_at(at(a.host)), std::runtime_error) << a.host;
    }
  }
}

} // namespace
} // namespace l3
