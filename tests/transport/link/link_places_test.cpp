// SPDX-License-Identifier: Apache-2.0
#include "transport/link/link_places.hpp"

#include <algorithm>

#include <gtest/gtest.h>

namespace l3 {
namespace {

TEST(link_places, leave_descriptors_to_others_whatever_the_limit) {
  for (const rlim_t most : {rlim_t{1024}, rlim_t{1025}, rlim_t{4096}, rlim_t{65536}}) {
    const auto places = link_places::of(most);
    EXPECT_LE(2 * static_cast<rlim_t>(places.first_of_watch) + link_places::of_others, most);
    EXPECT_LE(places.connections + link_places::of_program,
              static_cast<std::size_t>(places.first_of_watch));
    EXPECT_GE(places.connections, 160U) << most;
  }
}

/// Half of what is left beyond 320 is for connections and what comes before others have made way,
/// of which the program may have 192.
TEST(link_places, are_half_of_the_descriptors_beyond_320_less_192) {
  for (const int half : {352, 353, 1215, 1216, 1217, 4095, 4096})
    for (const int more : {0, 1}) {
      const auto places = link_places::of(static_cast<rlim_t>(320 + 2 * half + more));
      EXPECT_EQ(places.first_of_watch, half);
      EXPECT_EQ(places.connections, std::min(half - 192U, 1024U));
    }
  EXPECT_EQ(link_places::of(320 + 2 * 4097).first_of_watch, 4096);
}

TEST(link_places, are_bounded_where_descriptors_are_not) {
  for (const rlim_t most : {rlim_t{1} << 30, rlim_t{RLIM_INFINITY}}) {
    EXPECT_EQ(link_places::of(most).first_of_watch, 4096);
    EXPECT_EQ(link_places::of(most).connections, 1024U);
  }
}

/// It was lowered since the start, at which the receiver asks for more.
TEST(link_places, are_some_under_any_limit) {
  for (const rlim_t most : {rlim_t{0}, rlim_t{1}, rlim_t{320}, rlim_t{1023}})
    EXPECT_EQ(link_places::of(most).first_of_watch, 352) << most;
}

} // namespace
} // namespace l3
