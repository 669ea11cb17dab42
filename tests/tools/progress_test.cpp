// SPDX-License-Identifier: Apache-2.0
#include "tools/progress.hpp"

#include <gtest/gtest.h>

namespace l3::test {
namespace {

using namespace std::chrono_literals;

TEST(progress_text, says_how_far_how_fast_and_how_long) {
  EXPECT_EQ(progress_text("verify", "events", 300, 1000, 3s),
            "verify 300 of 1000 events (30 %), 100 events/s, 8 s left");
  EXPECT_EQ(progress_text("verify", "events", 1000, 1'000'000, 10s),
            "verify 1000 of 1000000 events (0 %), 100 events/s, 166:31 min left");
}

TEST(progress_text, counts_bytes_in_units_that_fit) {
  EXPECT_EQ(progress_text("info", "bytes", 1'500'000, 3'000'000, 1s),
            "info 1.5 of 3.0 MB (50 %), 1.5 MB/s, 2 s left");
  EXPECT_EQ(progress_text("info", "bytes", 1'500'000'000, 3'000'000'000, 15s),
            "info 1.5 of 3.0 GB (50 %), 100.0 MB/s, 16 s left");
}

TEST(progress_text, says_only_what_it_knows) {
  EXPECT_EQ(progress_text("receive", "events", 500, 0, 2s), "receive 500 events, 250 events/s");
  EXPECT_EQ(progress_text("verify", "events", 0, 1000, 2s), "verify 0 of 1000 events (0 %)");
  EXPECT_EQ(progress_text("verify", "events", 1, 1'000'000, 2s),
            "verify 1 of 1000000 events (0 %), 0.5 events/s");
  EXPECT_EQ(progress_text("verify", "events", 1000, 1000, 2s),
            "verify 1000 of 1000 events (100 %), 500 events/s");
}

} // namespace
} // namespace l3::test
