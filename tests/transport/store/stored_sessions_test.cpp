// SPDX-License-Identifier: Apache-2.0
#include "transport/store/stored_sessions.hpp"

#include <gtest/gtest.h>

namespace l3 {
namespace {

constexpr std::uint64_t session = 42;

block_header block_of(std::uint64_t number) {
  block_header h;
  h.session = session;
  h.sequence = number;
  h.events = 10;
  h.payload_bytes = 1000;
  h.run = 7;
  h.node = 3;
  return h;
}

block_tally tally_of(std::uint64_t first, std::uint64_t last) {
  block_tally t;
  for (std::uint64_t n = first; n <= last; ++n) t.add(block_of(n));
  return t;
}

TEST(stored_sessions, sum_up_what_is_written) {
  stored_sessions all;
  EXPECT_EQ(all.find(session), nullptr);
  for (std::uint64_t n = 1; n <= 3; ++n) (void)all.add(block_of(n));
  EXPECT_TRUE(all.has_uncommitted());
  all.commit();
  EXPECT_FALSE(all.has_uncommitted());
  const stored_session& s = *all.find(session);
  EXPECT_EQ(s.blocks, 3U);
  EXPECT_EQ(s.events, 30U);
  EXPECT_EQ(s.bytes, 3000U);
  EXPECT_EQ(s.run, 7U);
  EXPECT_EQ(s.node, 3U);
  EXPECT_EQ(s.numbers.last(), 3U);
}

TEST(stored_sessions, take_back_what_is_not_committed) {
  stored_sessions all;
  (void)all.add(block_of(1));
  all.commit();
  (void)all.add(block_of(2));
  (void)all.add(block_of(3));
  all.take_back();
  EXPECT_EQ(all.find(session)->events, 10U);
  EXPECT_EQ(all.find(session)->numbers.last(), 1U);
  stored_sessions none;
  (void)none.add(block_of(1));
  none.take_back();
  EXPECT_EQ(none.find(session), nullptr);
}

TEST(stored_sessions, tell_what_went_and_came_back_since_the_start) {
  stored_sessions all;
  for (std::uint64_t n = 1; n <= 4; ++n) (void)all.add(block_of(n));
  all.commit();
  const auto ever = [&] {
    const stored_session& s = *all.find(session);
    return s.events + s.gone.events - s.found.events;
  };
  all.leave_out({{session, tally_of(1, 2)}});
  EXPECT_EQ(all.find(session)->events, 20U);
  EXPECT_EQ(all.find(session)->gone.blocks, 2U);
  EXPECT_EQ(ever(), 40U);
  listed_blocks back;
  back.session = session;
  back.blocks = tally_of(1, 2);
  all.take_up(back);
  EXPECT_EQ(all.find(session)->events, 40U);
  EXPECT_EQ(all.find(session)->gone.events, 0U);
  EXPECT_EQ(ever(), 40U);
  back.blocks = tally_of(5, 5); // which was lost before the start
  all.take_up(back);
  EXPECT_EQ(all.find(session)->events, 50U);
  EXPECT_EQ(all.find(session)->found.blocks, 1U);
  EXPECT_EQ(ever(), 40U) << "none was stored since the start";
}

} // namespace
} // namespace l3
