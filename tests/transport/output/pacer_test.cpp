// SPDX-License-Identifier: Apache-2.0
#include "transport/output/pacer.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace l3 {
namespace {

using namespace std::chrono_literals;

TEST(pacer, without_a_rate_never_waits) {
  pacer p(bit_rate{0}, 0ms);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(p.wait_before(1 << 20, 5), 0ns);
}

TEST(pacer, waits_for_as_long_as_the_last_bytes_take) {
  pacer p(bit_rate{8e9}, 0ms); // a byte takes 1 ns
  const std::uint64_t start = 1'000'000;
  EXPECT_EQ(p.wait_before(1000, start), 0ns);
  EXPECT_EQ(p.wait_before(1000, start), 1000ns);
  EXPECT_EQ(p.wait_before(1000, start + 400), 600ns);
  EXPECT_EQ(p.wait_before(1000, start + 1000), 0ns);
}

TEST(pacer, counts_what_is_on_the_line_at_a_new_rate) {
  pacer p(bit_rate{8e9}, 0ms);
  const std::uint64_t start = 1'000'000;
  p.sent(1000, start);
  p.set_rate(bit_rate{4e9}, start + 400); // 600 bytes of them are still to go
  EXPECT_EQ(p.wait(start + 400), 1200ns);
  p.set_rate(bit_rate{8e9}, start + 400);
  EXPECT_EQ(p.wait(start + 400), 600ns);
  p.set_rate(bit_rate{0}, start + 400);
  EXPECT_EQ(p.wait_before(1 << 20, start + 400), 0ns);
  p.set_rate(bit_rate{8e9}, start + 500);
  EXPECT_EQ(p.wait_before(1000, start + 500), 0ns);
  EXPECT_EQ(p.wait(start + 500), 1000ns);
}

RC_GTEST_PROP(pacer, keeps_its_rate_over_any_stretch, ()) {
  const double rate = *rc::gen::inRange(1, 100'000) * 1e6;
  const auto burst = std::chrono::microseconds(*rc::gen::inRange(0, 5000));
  pacer p(bit_rate{rate}, burst);
  std::uint64_t now = 1'000'000'000;
  const std::uint64_t start = now;
  std::uint64_t sent = 0;
  for (int i = 0; i < 300; ++i) {
    const auto bytes = *rc::gen::inRange<std::uint64_t>(1, 10'000);
    const auto wait = p.wait_before(bytes, now);
    if (wait > 0ns) {
      now += static_cast<std::uint64_t>(wait.count());
      RC_ASSERT(p.wait_before(bytes, now) == 0ns);
    }
    // Before these bytes, the line was idle or caught up: what went out fits into the time and the
    // burst.
    const double allowed = static_cast<double>(now - start) +
                           static_cast<double>(std::chrono::nanoseconds(burst).count());
    RC_ASSERT(static_cast<double>(sent) * 8e9 / rate <= allowed + 300);
    sent += bytes;
    now += *rc::gen::inRange<std::uint64_t>(0, 1000);
  }
}

TEST(pacer, makes_up_for_late_timers) {
  pacer p(bit_rate{8e9}, 4ms);
  std::uint64_t now = 1'000'000'000;
  std::uint64_t sent = 0;
  while (now < 2'000'000'000) { // a timer that always wakes 1.5 ms late
    const auto wait = p.wait_before(1'000'000, now);
    if (wait == 0ns) {
      sent += 1'000'000;
    } else {
      now += static_cast<std::uint64_t>(wait.count()) + 1'500'000;
    }
  }
  EXPECT_NEAR(static_cast<double>(sent), 1e9, 6e6);
}

} // namespace
} // namespace l3
