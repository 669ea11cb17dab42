// SPDX-License-Identifier: Apache-2.0
#include "transport/outbox/link_pace.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace l3 {
namespace {

using namespace std::chrono_literals;

constexpr time_point start(1ms);

/// How long to wait before these bytes; zero means that they count as sent now.
std::chrono::nanoseconds wait_before(pacer& p, std::uint64_t bytes, time_point now) {
  const auto time = p.wait(now);
  if (time == 0ns) p.sent(bytes, now);
  return time;
}

TEST(pacer, without_a_rate_never_waits) {
  pacer p(bit_rate{0}, 0ms);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(wait_before(p, 1 << 20, start), 0ns);
}

TEST(pacer, waits_for_as_long_as_the_last_bytes_take) {
  pacer p(bit_rate{8e9}, 0ms); // a byte takes 1 ns
  EXPECT_EQ(wait_before(p, 1000, start), 0ns);
  EXPECT_EQ(wait_before(p, 1000, start), 1000ns);
  EXPECT_EQ(wait_before(p, 1000, start + 400ns), 600ns);
  EXPECT_EQ(wait_before(p, 1000, start + 1000ns), 0ns);
}

TEST(pacer, counts_what_is_on_the_line_at_a_new_rate) {
  pacer p(bit_rate{8e9}, 0ms);
  p.sent(1000, start);
  p.set_rate(bit_rate{4e9}, start + 400ns); // 600 bytes of them are still to go
  EXPECT_EQ(p.wait(start + 400ns), 1200ns);
  p.set_rate(bit_rate{8e9}, start + 400ns);
  EXPECT_EQ(p.wait(start + 400ns), 600ns);
  p.set_rate(bit_rate{0}, start + 400ns);
  EXPECT_EQ(wait_before(p, 1 << 20, start + 400ns), 0ns);
  p.set_rate(bit_rate{8e9}, start + 500ns);
  EXPECT_EQ(wait_before(p, 1000, start + 500ns), 0ns);
  EXPECT_EQ(p.wait(start + 500ns), 1000ns);
}

RC_GTEST_PROP(pacer, keeps_its_rate_over_any_stretch, ()) {
  const double rate = *rc::gen::inRange(1, 100'000) * 1e6;
  const auto burst = std::chrono::microseconds(*rc::gen::inRange(0, 5000));
  pacer p(bit_rate{rate}, burst);
  time_point now = start;
  std::uint64_t sent = 0;
  for (int i = 0; i < 300; ++i) {
    const auto bytes = *rc::gen::inRange<std::uint64_t>(1, 10'000);
    const auto wait = wait_before(p, bytes, now);
    if (wait > 0ns) {
      now += wait;
      RC_ASSERT(wait_before(p, bytes, now) == 0ns);
    }
    // Before these bytes, the line was idle or caught up: what went out fits into the time and the
    // burst.
    const double allowed = static_cast<double>((now - start).count()) +
                           static_cast<double>(std::chrono::nanoseconds(burst).count());
    RC_ASSERT(static_cast<double>(sent) * 8e9 / rate <= allowed + 300);
    sent += bytes;
    now += std::chrono::nanoseconds(*rc::gen::inRange(0, 1000));
  }
}

TEST(pacer, makes_up_for_late_timers) {
  pacer p(bit_rate{8e9}, 4ms);
  time_point now = start;
  std::uint64_t sent = 0;
  while (now < start + 1s) { // a timer that always wakes 1.5 ms late
    const auto wait = wait_before(p, 1'000'000, now);
    if (wait == 0ns) {
      sent += 1'000'000;
    } else {
      now += wait + 1500us;
    }
  }
  EXPECT_NEAR(static_cast<double>(sent), 1e9, 6e6);
}

} // namespace
} // namespace l3
