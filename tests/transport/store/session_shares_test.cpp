// SPDX-License-Identifier: Apache-2.0
#include "transport/store/session_shares.hpp"

#include <gtest/gtest.h>

namespace l3 {
namespace {

TEST(session_shares, are_a_sixteenth_of_the_free_places_and_64_at_least) {
  EXPECT_EQ(session_shares(0).share(), 64U);
  EXPECT_EQ(session_shares(std::size_t{64} * 16).share(), 64U);
  EXPECT_EQ(session_shares(std::size_t{65} * 16).share(), 65U);
  EXPECT_EQ(session_shares(65'536).share(), 4096U);
}

TEST(session_shares, end_with_the_last_session_of_a_share) {
  session_shares shares(0);
  const auto has = [](std::uint64_t) { return true; };
  for (std::uint64_t session = 1; session <= 64; ++session) {
    EXPECT_TRUE(shares.may_begin("peer", has)) << session;
    shares.begin("peer", session);
  }
  EXPECT_FALSE(shares.may_begin("peer", has));
  EXPECT_TRUE(shares.may_begin("another", has));
  EXPECT_TRUE(shares.may_begin("peer", [](std::uint64_t session) { return session > 1; }))
      << "one was taken back";
}

} // namespace
} // namespace l3
