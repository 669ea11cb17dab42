// SPDX-License-Identifier: Apache-2.0
// Event building, fed by hand: events that arrive in any order come out whole, once, and all others
// are counted.
#include "transport/building/event_builder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/transport/building/rig.hpp"
#include "transport/format/block.hpp"

namespace l3::test {
namespace {

using namespace std::chrono_literals;

std::vector<wire_datagram> events(const rig& r, std::uint32_t spill, std::uint32_t first,
                                  std::uint32_t last) {
  std::vector<wire_datagram> all;
  for (std::uint32_t n = first; n <= last; ++n) {
    const auto one = r.event({spill, n});
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

TEST(event_builder, events_in_order_come_out_as_sent) {
  rig r;
  r.send(events(r, 5, 1, 10));
  r.drain();
  EXPECT_EQ(r.pool.received.size(), 10U);
  EXPECT_EQ(r.counters.fragments_admitted, 30U);
  EXPECT_EQ(r.counters.trailers, 30U);
  EXPECT_EQ(r.pool.received.at({5, 3}).reference_time, 3000U);
  EXPECT_EQ(r.pool.received.at({5, 3}).boards, 6U);
  EXPECT_EQ(r.pool.received.at({5, 3}).flags, 0U);
  r.expect_balance();
  r.expect_bytes();
}

class chunk_sizes : public testing::TestWithParam<std::uint32_t> {};

TEST_P(chunk_sizes, any_order_within_a_window_gives_the_same_events) {
  rig_options o;
  o.chunk_bytes = GetParam();
  o.batch_events = 8;
  o.parked = 16;
  if (o.chunk_bytes >= 8000) o.crates = {{{0, 16, {}}, {1, 12, {}}}};
  rig r(o);
  auto all = events(r, 511, 1, 24);
  std::mt19937 random(GetParam());
  const std::size_t window = all.size() / 3;
  for (std::size_t at = 0; at < all.size(); at += window)
    std::shuffle(all.begin() + static_cast<std::ptrdiff_t>(at),
                 all.begin() + static_cast<std::ptrdiff_t>(std::min(at + window, all.size())),
                 random);
  r.send(all);
  r.drain();
  EXPECT_EQ(r.pool.received.size(), 24U);
  EXPECT_EQ(r.counters.events_incomplete, 0U);
  EXPECT_EQ(r.input.refused.sum(), 0U);
  r.expect_balance();
  r.expect_bytes();
}

INSTANTIATE_TEST_SUITE_P(event_builder, chunk_sizes,
                         testing::Values(1400, 2072, 4152, 8000, 33160, 34216));

} // namespace
} // namespace l3::test
