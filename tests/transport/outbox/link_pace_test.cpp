// SPDX-License-Identifier: Apache-2.0
#include "transport/outbox/link_pace.hpp"

#include <array>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace l3 {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t block = 100'000;
constexpr time_point start(1s);
constexpr bit_rate rate{8e8}; // 100 MB/s

/// Both ask whenever they were told to; returns what each has sent in two seconds. `of_fresh`: how
/// many bytes a second the fresh one has to send.
std::array<std::uint64_t, 2> share_the_link(std::uint64_t of_fresh, bool with_backlog) {
  using share = link_pace::share;
  link_pace pace(rate);
  std::array<std::uint64_t, 2> sent{};
  std::array<time_point, 2> ask_at{start, start};
  for (time_point now = start; now < start + 2s; now += 50us) {
    const auto packed =
        static_cast<std::uint64_t>(in_seconds(now - start) * static_cast<double>(of_fresh));
    for (const auto who : {share::backlog, share::fresh}) {
      const auto i = static_cast<std::size_t>(who);
      if (now < ask_at[i] || (who == share::backlog && !with_backlog)) continue;
      while (who == share::backlog || sent[i] + block <= packed) {
        const auto wait = pace.wait(who, now);
        ask_at[i] = now + wait;
        if (wait.count() != 0) break;
        pace.sent(who, block, now);
        sent[i] += block;
      }
    }
  }
  return sent;
}

/// One that is alone has all of the link. The backlog has a quarter if fresh events could fill it,
/// and what they leave if they need less than their share.
TEST(link_pace, is_shared) {
  struct {
    std::uint64_t of_fresh;
    bool with_backlog;
    double fresh, backlog;
  } const all[] = {{1'000'000'000, false, 200e6, 0},
                   {0, true, 0, 200e6},
                   {1'000'000'000, true, 150e6, 50e6},
                   {40'000'000, true, 80e6, 120e6}};
  for (const auto& a : all) {
    const auto [fresh, backlog] = share_the_link(a.of_fresh, a.with_backlog);
    EXPECT_NEAR(static_cast<double>(fresh), a.fresh, 2e6) << a.of_fresh;
    EXPECT_NEAR(static_cast<double>(backlog), a.backlog, 5e6) << a.of_fresh;
  }
}

TEST(link_pace, without_a_rate_never_waits) {
  link_pace pace(bit_rate{});
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(pace.wait(link_pace::share::backlog, start).count(), 0);
    pace.sent(link_pace::share::backlog, block, start);
    EXPECT_EQ(pace.wait(link_pace::share::fresh, start).count(), 0);
    pace.sent(link_pace::share::fresh, block, start);
  }
}

TEST(link_pace, takes_a_new_rate_for_both) {
  link_pace pace(bit_rate{1e6}); // a block takes 0.8 s
  pace.sent(link_pace::share::fresh, block, start);
  ASSERT_GT(pace.wait(link_pace::share::backlog, start).count(), 0);
  pace.set_rate(bit_rate{}, start);
  EXPECT_EQ(pace.wait(link_pace::share::fresh, start).count(), 0);
  EXPECT_EQ(pace.wait(link_pace::share::backlog, start).count(), 0);
}

/// How long to wait before these bytes; zero means that they count as sent now.
std::chrono::nanoseconds wait_before(pacer& p, std::uint64_t bytes, time_point now) {
  const auto time = p.wait(now);
  if (time == 0ns) p.sent(bytes, now);
  return time;
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
  const double any_rate = *rc::gen::inRange(1, 100'000) * 1e6;
  const auto burst = std::chrono::microseconds(*rc::gen::inRange(0, 5000));
  pacer p(bit_rate{any_rate}, burst);
  time_point now = start;
  std::uint64_t sent = 0;
  for (int i = 0; i < 300; ++i) {
    const auto bytes = *rc::gen::inRange<std::uint64_t>(1, 10'000);
    const auto wait = wait_before(p, bytes, now);
    if (wait > 0ns) {
      now += wait;
      RC_ASSERT(wait_before(p, bytes, now) == 0ns);
    }
    // Before these bytes, the link was idle or caught up: what went out fits into the time and the
    // burst.
    const double allowed = static_cast<double>((now - start).count()) +
                           static_cast<double>(std::chrono::nanoseconds(burst).count());
    RC_ASSERT(static_cast<double>(sent) * 8e9 / any_rate <= allowed + 300);
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
