// SPDX-License-Identifier: Apache-2.0
#include "transport/link/link_places.hpp"

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
  for (const auto& [most, half] : {std::pair{1024, 352}, {1026, 353}, {2751, 1215}, {2752, 1216}}) {
    EXPECT_EQ(link_places::of(static_cast<rlim_t>(most)).first_of_watch, half) << most;
    EXPECT_EQ(link_places::of(static_cast<rlim_t>(most)).connections, half - 192U) << most;
  }
  EXPECT_EQ(link_places::of(2754).connections, 1024U);
  EXPECT_EQ(link_places::of(8510).first_of_watch, 4095);
  EXPECT_EQ(link_places::of(8512).first_of_watch, 4096);
  EXPECT_EQ(link_places::of(8514).first_of_watch, 4096);
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
