// SPDX-License-Identifier: Apache-2.0
#include "receiver/link_peers.hpp"

#include <gtest/gtest.h>

namespace l3 {
namespace {

std::size_t count(const link_peers& peers) {
  return static_cast<std::size_t>(std::distance(peers.begin(), peers.end()));
}

void greet(link_peers& peers, std::uint64_t session) {
  peers.greet(session, "address",
              time_point(std::chrono::hours(1)) + std::chrono::microseconds(session));
}

TEST(link_peers, are_1024_sessions_of_which_the_one_that_is_silent_longest_makes_way) {
  link_peers peers;
  for (std::uint64_t session = 0; session < 1024; ++session) greet(peers, session);
  EXPECT_EQ(count(peers), 1024U);
  greet(peers, 1024);
  EXPECT_EQ(count(peers), 1024U);
  EXPECT_EQ(peers.find(0), nullptr);
  EXPECT_NE(peers.find(1), nullptr);
  EXPECT_NE(peers.find(1024), nullptr);
}

} // namespace
} // namespace l3
