// SPDX-License-Identifier: Apache-2.0
// How far a lane on disk may have been sent: the next process believes no receiver that claims to
// have more.
#include <gtest/gtest.h>

#include "tests/transport/output/spool_blocks.hpp"
#include "transport/output/spool_backlog.hpp"

namespace l3 {
namespace {

using namespace test;

constexpr block_identity own{9, 7, 3};
constexpr std::uint64_t unknown = 4 + (1U << 20);

class a_lane_on_disk : public testing::Test {
protected:
  /// What a process leaves that has written four blocks, and sent up to this one.
  void leave(std::uint64_t sent, bool opens_lane = true) const {
    spool disk(small_spool(folder_.path()));
    if (opens_lane) disk.open_lane(own.session);
    for (std::uint64_t i = 1; i <= 4; ++i) ASSERT_FALSE(disk.append(spool_block(9, i)));
    spool_backlog backlog(disk, own);
    ASSERT_TRUE(backlog.next_lane());
    EXPECT_EQ(backlog.lane().possibly_sent, 0U) << "its own lane: it knows exactly";
    for (std::uint64_t i = 1; i <= sent; ++i) EXPECT_TRUE(backlog.may_send(i, {}));
    EXPECT_EQ(backlog.own_sent(), sent);
  }
  [[nodiscard]] std::uint64_t found() const {
    spool disk(small_spool(folder_.path()));
    spool_backlog backlog(disk, {5, 7, 3});
    EXPECT_TRUE(backlog.next_lane());
    return backlog.lane().possibly_sent;
  }
  [[nodiscard]] std::filesystem::path notes() const {
    return std::filesystem::path(folder_.path()) / "released.kl3r";
  }

  const scratch_folder folder_;
};

TEST_F(a_lane_on_disk, was_not_sent) {
  leave(0);
  EXPECT_EQ(found(), 0U);
  EXPECT_EQ(found(), 0U);
}

TEST_F(a_lane_on_disk, was_sent_somewhat_less_far_than_is_noted) {
  leave(3);
  const auto at_most = found();
  EXPECT_GE(at_most, 3U);
  EXPECT_LE(at_most, 3U + 256);
}

TEST_F(a_lane_on_disk, may_have_been_sent_any_way_if_nothing_is_noted) {
  leave(3, false); // as version 0.1.0 does
  EXPECT_EQ(found(), unknown);
}

TEST_F(a_lane_on_disk, may_have_been_sent_any_way_if_the_notes_are_gone_or_damaged) {
  leave(0);
  auto file = read_file(notes());
  file.at(32 * spool_releases::most_sessions + 9) ^= std::byte{1};
  write_file(notes(), file);
  EXPECT_EQ(found(), unknown);
  std::filesystem::remove(notes());
  EXPECT_EQ(found(), unknown);
}

TEST_F(a_lane_on_disk, keeps_its_note_while_none_of_its_blocks_is_there) {
  {
    spool disk(small_spool(folder_.path(), 1));
    disk.open_lane(own.session);
    ASSERT_FALSE(disk.append(spool_block(9, 1)));
    disk.note_sent(own.session, 1);
    (void)disk.release(own.session, 1);
    ASSERT_FALSE(disk.append(spool_block(8, 1))); // the segment goes
    for (std::uint64_t i = 2; i <= 4; ++i) ASSERT_FALSE(disk.append(spool_block(9, i)));
    (void)disk.release(8, 1);
  }
  EXPECT_EQ(found(), 1U);
}

TEST_F(a_lane_on_disk, is_sent_further_by_the_next_process) {
  leave(0);
  {
    spool disk(small_spool(folder_.path()));
    spool_backlog backlog(disk, {5, 7, 3});
    ASSERT_TRUE(backlog.next_lane());
    EXPECT_TRUE(backlog.may_send(1, {}));
    EXPECT_EQ(backlog.lane().possibly_sent, 0U);
    (void)disk.release(own.session, 1);
  }
  EXPECT_GE(found(), 1U);
  EXPECT_LE(found(), 1U + 256);
}

} // namespace
} // namespace l3
