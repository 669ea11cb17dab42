// SPDX-License-Identifier: Apache-2.0
#include "receiver/recent_events.hpp"

#include <gtest/gtest.h>

#include "receiver/block_receiver.hpp"
#include "transport/format/l2.hpp"

namespace l3 {
namespace {

using identity = recent_events::identity;

constexpr std::uint32_t run = 7;
constexpr std::uint64_t first_session = 100, second_session = 200, third_session = 300;

TEST(recent_events, are_one_in_two_sessions_of_a_run_and_two_in_one_session) {
  recent_events r(160, 4);
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
  recent_events r(64, 4); // of up to eight sessions four events of each kind
  for (std::uint32_t n = 1; n <= 20; ++n) r.add(first_session, run, {1, n, 100, 0});
  for (std::uint32_t n = 1; n <= 20; ++n)
    EXPECT_EQ(r.has_from_another(second_session, run, {1, n, 100, 0}), n <= 4 || n > 16) << n;
}

TEST(recent_events, tell_the_last_of_a_session_though_spill_numbers_begin_again) {
  recent_events r(64, 4); // of up to eight sessions four events of each kind
  EXPECT_FALSE(r.last_of(first_session));
  r.add(first_session, run, {5, 2, 100, 0});
  r.add(first_session, run, {5, 1, 100, 0});
  EXPECT_EQ(r.last_of(first_session), (event_key{5, 2}));
  for (std::uint32_t spill = 6; spill <= 530; ++spill)
    r.add(first_session, run, {spill & l2::spill_mask, 1, 100, 0});
  EXPECT_EQ(r.last_of(first_session), (event_key{530 & l2::spill_mask, 1}));
}

TEST(recent_events, do_not_forget_a_silent_session_for_those_that_go_on) {
  constexpr std::uint32_t sessions = 16, events = 200; // each
  recent_events r(1024, 20);
  constexpr std::uint32_t share = 1024 / sessions / 2;
  for (std::uint64_t s = 1; s <= sessions; ++s)
    for (std::uint32_t n = 1; n <= events; ++n)
      r.add(s, run, {static_cast<std::uint32_t>(s), n, 100, 0});
  for (std::uint32_t n = 1000; n < 3000; ++n) // all but the first
    for (std::uint64_t s = 2; s <= sessions; ++s)
      r.add(s, run, {static_cast<std::uint32_t>(s), n, 100, 0});
  for (std::uint32_t n = 1; n <= events; ++n)
    EXPECT_EQ(r.has_from_another(999, run, {1, n, 100, 0}), n <= share || n > events - share) << n;
}

TEST(recent_events, are_counted_in_a_session_that_has_them_several_times) {
  recent_events r(64, 4); // of up to eight sessions four events of each kind
  const identity twin{1, 2, 300, 4};
  for (int n = 0; n < 3; ++n) r.add(first_session, run, twin);
  r.take_back(first_session, twin);
  r.take_back(first_session, twin);
  EXPECT_TRUE(r.has_from_another(second_session, run, twin));
  EXPECT_FALSE(r.has_from_another(first_session, run, twin));
  r.add(second_session, run, twin);
  EXPECT_TRUE(r.has_from_another(first_session, run, twin));
  r.take_back(first_session, twin);
  EXPECT_TRUE(r.has_from_another(first_session, run, twin));
  EXPECT_FALSE(r.has_from_another(second_session, run, twin));
}

TEST(recent_events, that_are_taken_back_again_and_again_take_no_place) {
  recent_events r(64, 4);
  for (int attempt = 0; attempt < 100; ++attempt) { // a store that cannot be written
    for (std::uint32_t n = 1; n <= 2; ++n) r.add(first_session, run, {1, n, 100, 0});
    for (std::uint32_t n = 2; n >= 1; --n) r.take_back(first_session, {1, n, 100, 0});
  }
  for (std::uint32_t n = 1; n <= 7; ++n) r.add(first_session, run, {1, n, 100, 0});
  for (std::uint32_t n = 1; n <= 7; ++n)
    EXPECT_TRUE(r.has_from_another(second_session, run, {1, n, 100, 0})) << n;
}

TEST(recent_events, forget_the_session_that_was_heard_longest_ago) {
  recent_events r(64, 2);
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

TEST(recent_events, differ_in_their_length_and_in_any_byte) {
  std::vector<std::byte> bytes(2000);
  const auto before = recent_events::identity_of(bytes);
  bytes.back() = std::byte{1};
  EXPECT_NE(recent_events::identity_of(bytes), before);
  bytes.back() = std::byte{0};
  EXPECT_EQ(recent_events::identity_of(bytes), before);
  bytes.push_back(std::byte{0});
  EXPECT_NE(recent_events::identity_of(bytes), before);
}

} // namespace
} // namespace l3
