// SPDX-License-Identifier: Apache-2.0
#include "daemon/run/run_host.hpp"

#include <gtest/gtest.h>

namespace l3 {
namespace {

TEST(where_events_are, is_told_in_one_sum) {
  ledger l;
  EXPECT_EQ(where_events_are(l), "0 = 0 stored");
  l.events = {1000, 236, 0, {{"drain", 7}, {"engine", 0}, {"priority", 380}}, 377};
  l.spool.emplace().waiting = 377;
  EXPECT_EQ(where_events_are(l),
            "1000 = 236 stored + 377 on disk + 387 shed (drain 7, priority 380)");
  l.events = {10, 1, 2, {}, 7};
  l.spool->waiting = 3;
  EXPECT_EQ(where_events_are(l), "10 = 1 stored + 2 rejected + 3 on disk + 4 under way");
}

} // namespace
} // namespace l3
