// SPDX-License-Identifier: Apache-2.0
#include "transport/outbox/safe_batches.hpp"

#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace l3 {
namespace {

TEST(safe_batches, wait_for_every_block_before_them) {
  safe_batches s;
  const auto first = s.sealed(1);
  const auto second = s.sealed(0); // holds the beginning of batch 2
  const auto third = s.sealed(2);
  s.secured(third); // on disk, while the others wait in memory
  EXPECT_EQ(s.up_to(), 0U);
  s.secured(first);
  EXPECT_EQ(s.up_to(), 1U);
  s.secured(first);
  EXPECT_EQ(s.up_to(), 1U);
  s.secured(second);
  EXPECT_EQ(s.up_to(), 2U);
}

TEST(safe_batches, of_which_nothing_is_left_wait_for_the_block_before_them) {
  safe_batches s;
  s.batch_done(1);
  EXPECT_EQ(s.up_to(), 1U);
  const auto block = s.sealed(2);
  s.batch_done(3); // all of it was rejected
  EXPECT_EQ(s.up_to(), 1U);
  s.secured(block);
  EXPECT_EQ(s.up_to(), 3U);
  s.secured(block);
  s.batch_done(4);
  EXPECT_EQ(s.up_to(), 4U);
}

/// Against the definition, in random order.
TEST(safe_batches, agree_with_what_they_are_defined_as) {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    safe_batches s;
    struct block {
      safe_batches::ticket ticket;
      std::uint64_t batch;
      bool secured;
    };
    std::vector<block> blocks;
    std::uint64_t done_before_all = 0, serial = 0;
    for (int step = 0; step < 60; ++step) {
      const auto open = [](const block& b) { return !b.secured; };
      switch (random() % 3) {
      case 0: {
        const bool ends = random() % 2 == 0;
        if (ends) ++serial;
        blocks.push_back({s.sealed(ends ? serial : 0), ends ? serial : 0, false});
        break;
      }
      case 1:
        ++serial;
        s.batch_done(serial);
        if (std::none_of(blocks.begin(), blocks.end(), open)) {
          blocks.clear();
          done_before_all = serial;
        } else {
          blocks.back().batch = serial;
        }
        break;
      default:
        if (!blocks.empty()) {
          block& b = blocks[random() % blocks.size()];
          b.secured = true;
          s.secured(b.ticket);
        }
      }
      std::uint64_t expected = done_before_all;
      for (const block& b : blocks) {
        if (!b.secured) break;
        if (b.batch != 0) expected = b.batch;
      }
      ASSERT_EQ(s.up_to(), expected);
    }
  }
}

} // namespace
} // namespace l3
