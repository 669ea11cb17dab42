// SPDX-License-Identifier: Apache-2.0
#include "receiver/early_blocks.hpp"

#include <gtest/gtest.h>

namespace l3 {
namespace {

constexpr std::uint64_t session = 9;

bool keep(early_blocks& blocks, std::uint64_t sequence, std::uint64_t missing,
          std::size_t bytes = 10) {
  zmq::message_t body(bytes);
  return blocks.keep(session, sequence, missing, body);
}

TEST(early_blocks, are_kept_64_behind_the_missing_one_and_no_farther) {
  early_blocks blocks(mebibytes(1));
  constexpr std::uint64_t missing = 1000;
  EXPECT_FALSE(keep(blocks, missing, missing));
  EXPECT_TRUE(keep(blocks, missing + 1, missing));
  EXPECT_TRUE(keep(blocks, missing + 64, missing));
  EXPECT_FALSE(keep(blocks, missing + 65, missing));
  EXPECT_FALSE(blocks.has(session, missing + 65));
  EXPECT_EQ(blocks.behind(session, missing), 1 | std::uint64_t{1} << 63);
}

TEST(early_blocks, have_as_many_bytes_as_they_may_and_none_beyond) {
  early_blocks blocks(byte_size{100});
  EXPECT_TRUE(keep(blocks, 2, 1, 60));
  EXPECT_FALSE(keep(blocks, 3, 1, 41));
  EXPECT_TRUE(keep(blocks, 3, 1, 40));
  EXPECT_FALSE(keep(blocks, 4, 1, 1));
  EXPECT_TRUE(blocks.take(session, 2));
  EXPECT_TRUE(keep(blocks, 4, 1, 60));
}

} // namespace
} // namespace l3
