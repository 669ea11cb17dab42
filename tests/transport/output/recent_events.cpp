// SPDX-License-Identifier: Apache-2.0
#include "transport/output/recent_events.hpp"

#include <gtest/gtest.h>

namespace l3 {
namespace {

using identity = recent_events::identity;

constexpr std::uint32_t run = 7;
constexpr std::uint64_t first_session = 100, second_session = 200, third_session = 300;

TEST(recent_events, are_one_in_two_sessions_of_a_run_and_two_in_one_session) {
  recent_events r(10, 10, 4);
  const identity event{1, 2, 300, 4};
  r.add(first_session, run, event);
  EXPECT_TRUE(r.has_from_another(second_session, run, event));
  EXPECT_FALSE(r.has_from_another(first_session, run, event)) << "spill numbers wrap";
  EXPECT_FALSE(r.has_from_another(second_session, run + 1, event));
  for (const identity& other : {identity{2, 2, 300, 4}, identity{1, 3, 300, 4},
                                identity{1, 2, 301, 4}, identity{1, 2, 300, 5}})
    EXPECT_FALSE(r.has_from_another(second_session, run, other));
  r.take_back(first_session, event);
  EXPECT_FALSE(r.has_from_another(second_session, run, event));
}

TEST(recent_events, remember_the_first_and_the_last_of_a_session) {
  recent_events r(3, 4, 4);
  for (std::uint32_t n = 1; n <= 20; ++n) r.add(first_session, run, {1, n, 100, 0});
  for (std::uint32_t n = 1; n <= 20; ++n)
    EXPECT_EQ(r.has_from_another(second_session, run, {1, n, 100, 0}), n <= 3 || n > 16) << n;
}

TEST(recent_events, that_are_taken_back_again_and_again_take_no_place) {
  recent_events r(3, 4, 4);
  for (int attempt = 0; attempt < 100; ++attempt) { // a store that cannot be written
    for (std::uint32_t n = 1; n <= 2; ++n) r.add(first_session, run, {1, n, 100, 0});
    for (std::uint32_t n = 2; n >= 1; --n) r.take_back(first_session, {1, n, 100, 0});
  }
  for (std::uint32_t n = 1; n <= 7; ++n) r.add(first_session, run, {1, n, 100, 0});
  for (std::uint32_t n = 1; n <= 7; ++n)
    EXPECT_TRUE(r.has_from_another(second_session, run, {1, n, 100, 0})) << n;
}

TEST(recent_events, forget_the_session_that_was_heard_longest_ago) {
  recent_events r(3, 4, 2);
  r.add(first_session, run, {1, 1, 100, 0});
  r.add(second_session, run, {1, 2, 100, 0});
  r.add(first_session, run, {1, 3, 100, 0});
  r.add(third_session, run, {1, 4, 100, 0});
  constexpr std::uint64_t asking = 999;
  EXPECT_TRUE(r.has_from_another(asking, run, {1, 1, 100, 0}));
  EXPECT_FALSE(r.has_from_another(asking, run, {1, 2, 100, 0}));
  EXPECT_TRUE(r.has_from_another(asking, run, {1, 3, 100, 0}));
  EXPECT_TRUE(r.has_from_another(asking, run, {1, 4, 100, 0}));
}

TEST(recent_events, differ_in_their_length_and_their_first_kilobyte) {
  std::vector<std::byte> bytes(2000);
  const auto of = [&] { return recent_events::identity_of(bytes, bytes.size()); };
  const auto before = of();
  bytes[recent_events::telling_bytes] = std::byte{1};
  EXPECT_EQ(of(), before);
  bytes[recent_events::telling_bytes - 1] = std::byte{1};
  EXPECT_NE(of(), before);
}

} // namespace
} // namespace l3
