// SPDX-License-Identifier: Apache-2.0
// A few datagrams that name a spill which is not due: all spills come out whole, before and after
// it, and that spill itself.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/transport/building/rig.hpp"

namespace l3::test {
namespace {

using namespace std::chrono_literals;
using datagrams = std::vector<wire_datagram>;

/// Two stray trailers, of different fragments.
datagrams strays(const rig& r, std::uint32_t spill) {
  return {r.fragment({spill, 7}, 0).back(), r.fragment({spill, 9}, 1).back()};
}

datagrams whole_spill(const rig& r, std::uint32_t spill, std::uint32_t events) {
  datagrams all;
  for (std::uint32_t n = 1; n <= events; ++n) all = all + r.event({spill, n});
  return all + r.ends_of_spill(spill, events);
}

TEST(strays, between_two_spills_cost_nothing) {
  constexpr std::uint32_t events = 20;
  for (const std::uint32_t ahead : {2U, 3U, 200U, 255U}) {
    for (const auto& silence : {0ms, 100ms, 1000ms}) {
      rig r;
      r.send(whole_spill(r, 3, events));
      r.pass(1ms);
      r.send(strays(r, 3 + ahead));
      r.pass(silence);
      for (const std::uint32_t spill : {4U, 5U, 6U}) {
        r.send(whole_spill(r, spill, events));
        r.pass(3s);
      }
      r.drain();
      EXPECT_EQ(r.input.refused[refused::wrong_spill], 0U);
      EXPECT_EQ(r.pool.received.size(), 4U * events) << ahead << ": " << r.counted();
      r.expect_balance();
      r.expect_bytes();
    }
  }
}

/// Last chunks do not name their spill, and a receiver may read one before its siblings.
TEST(strays, do_not_draw_chunks_that_come_before_their_siblings) {
  constexpr std::uint32_t events = 20;
  for (const std::uint32_t strays_of : {5U, 200U}) {
    rig r;
    r.send(whole_spill(r, 3, events));
    r.pass(1ms);
    r.send(strays(r, strays_of));
    r.pass(1ms);
    for (std::uint32_t n = 1; n <= events; ++n) {
      datagrams event = r.event({4, n});
      std::ranges::stable_partition(event, [&](const wire_datagram& d) {
        return !d.payload.empty() && d.payload.size() < r.settings.chunk_bytes;
      });
      r.send(event);
    }
    r.send(r.ends_of_spill(4, events));
    r.pass(3s);
    r.send(whole_spill(r, 5, events));
    r.drain();
    EXPECT_EQ(r.pool.received.size(), 3U * events) << strays_of << ": " << r.counted();
    r.expect_balance();
    r.expect_bytes();
  }
}

TEST(strays, in_a_spill_cost_nothing) {
  constexpr std::uint32_t events = 20;
  for (std::size_t at = 1; at < 40; ++at) {
    rig r;
    const auto all = whole_spill(r, 4, events);
    const auto middle = all.begin() + static_cast<std::ptrdiff_t>(at);
    r.send(whole_spill(r, 3, events) + datagrams(all.begin(), middle) + strays(r, 6));
    r.pass(2ms);
    r.send(datagrams(middle, all.end()));
    r.pass(3s);
    for (const std::uint32_t spill : {5U, 6U}) {
      r.send(whole_spill(r, spill, events));
      r.pass(3s);
    }
    r.drain();
    EXPECT_EQ(r.pool.received.size(), 4U * events) << at << ": " << r.counted();
    EXPECT_EQ(std::ranges::count(r.summaries, spill_summary{4, events, 0, events}), 1);
    r.expect_balance();
    r.expect_bytes();
  }
}

} // namespace
} // namespace l3::test
