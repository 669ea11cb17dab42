// SPDX-License-Identifier: Apache-2.0
// Numbers that a lane on disk lacks: a forwarder that has each block acknowledged before it asks
// for the next one gets an empty block for them all the same. A slow line and a store that refused
// a block do that.
#include "transport/outbox/spool_backlog.hpp"

#include <gtest/gtest.h>

#include "tests/transport/outbox/spool_blocks.hpp"

namespace l3 {
namespace {

using namespace test;

/// Takes the current lane block by block; the numbers of those that are empty.
std::vector<std::uint64_t> take_one_by_one(spool_backlog& from) {
  std::vector<std::uint64_t> empty;
  for (auto next = from.lane().stored + 1; next <= from.lane().sealed; ++next) {
    const auto block = from.hold(next);
    if (!block) {
      ADD_FAILURE() << "the lane stands still at block " << next;
      return empty;
    }
    if (load<block_header>(block.bytes.data()).payload_bytes == 0) empty.push_back(next);
    from.stored_up_to(next, {});
  }
  return empty;
}

TEST(spool_backlog, goes_on_behind_a_block_that_was_damaged_when_it_was_found) {
  const scratch_folder folder;
  {
    spool disk(small_spool(folder.path()));
    for (std::uint64_t i = 1; i <= 4; ++i) ASSERT_FALSE(disk.append(spool_block(9, i)));
  }
  auto file = read_file(segment_path(folder.path(), 1));
  for (const std::uint64_t damaged : {2, 3})
    file[head_bytes + damaged * block_bytes - 1] ^= std::byte{1};
  write_file(segment_path(folder.path(), 1), file);
  spool disk(small_spool(folder.path()));
  spool_backlog backlog(disk, {5, 7, 3});
  ASSERT_TRUE(backlog.next_lane());
  EXPECT_EQ(take_one_by_one(backlog), numbers(2, 3));
  EXPECT_TRUE(backlog.next_lane()) << "it is done, and there is no other";
  EXPECT_EQ(backlog.lane().identity.session, 0U);
  EXPECT_EQ(disk.totals().blocks, 0U);
  EXPECT_EQ(disk.totals().missing, 2U);
}

/// Copies of blocks in memory: what the receiver had stored meanwhile was not copied.
TEST(spool_backlog, goes_on_behind_a_number_that_was_never_on_disk) {
  const scratch_folder folder;
  {
    spool disk(small_spool(folder.path()));
    for (const std::uint64_t i : {2, 4}) ASSERT_FALSE(disk.append(spool_block(9, i)));
  }
  spool disk(small_spool(folder.path()));
  spool_backlog backlog(disk, {5, 7, 3});
  ASSERT_TRUE(backlog.next_lane());
  EXPECT_EQ(backlog.lane().stored, 1U);
  EXPECT_EQ(take_one_by_one(backlog), numbers(3, 3)) << "to a receiver that stores elsewhere now";
}

/// The connection broke after the one before it was acknowledged.
TEST(spool_backlog, counts_a_missing_block_once_however_often_it_is_sent) {
  const scratch_folder folder;
  spool disk(small_spool(folder.path()));
  for (const std::uint64_t i : {1, 3}) ASSERT_FALSE(disk.append(spool_block(9, i)));
  bytes block;
  for (const std::uint64_t stored : {0, 1, 1}) {
    disk.release(9, stored);
    EXPECT_FALSE(disk.read(9, 2, block).error) << "with " << stored << " stored";
  }
  EXPECT_EQ(disk.totals().missing, 1U);
  EXPECT_EQ(first_of(disk, 9), 3U);
  disk.release(9, 2);
  EXPECT_TRUE(disk.read(9, 2, block).error);
  EXPECT_EQ(first_of(disk, 9), 3U);
  EXPECT_EQ(disk.totals().blocks, 1U);
}

} // namespace
} // namespace l3
