// SPDX-License-Identifier: Apache-2.0
#include "transport/output/link_pace.hpp"

#include <array>

#include <gtest/gtest.h>

namespace l3 {
namespace {

constexpr std::uint64_t block = 100'000;
constexpr std::uint64_t second = 1'000'000'000;
constexpr bit_rate rate{8e8}; // 100 MB/s

/// Both ask whenever they were told to; returns what each has sent in two seconds. `of_fresh`: how
/// many bytes a second the fresh one has to send.
std::array<std::uint64_t, 2> share_the_line(std::uint64_t of_fresh, bool with_backlog) {
  using share = line_pace::share;
  line_pace pace(rate);
  std::array<std::uint64_t, 2> sent{}, ask_at{second, second};
  for (std::uint64_t now = second; now < 3 * second; now += 50'000) {
    for (const auto who : {share::backlog, share::fresh}) {
      const auto i = static_cast<std::size_t>(who);
      if (now < ask_at[i] || (who == share::backlog && !with_backlog)) continue;
      while (who == share::backlog || sent[i] + block <= (now - second) * of_fresh / second) {
        const auto wait = pace.wait(who, now);
        ask_at[i] = now + static_cast<std::uint64_t>(wait.count());
        if (wait.count() != 0) break;
        pace.sent(who, block, now);
        sent[i] += block;
      }
    }
  }
  return sent;
}

TEST(line_pace, gives_all_of_the_line_to_who_is_alone) {
  EXPECT_NEAR(static_cast<double>(share_the_line(1'000'000'000, false)[0]), 200e6, 2e6);
  EXPECT_NEAR(static_cast<double>(share_the_line(0, true)[1]), 200e6, 2e6);
}

TEST(line_pace, gives_the_backlog_a_quarter_if_fresh_events_could_fill_the_line) {
  const auto [fresh, backlog] = share_the_line(1'000'000'000, true);
  EXPECT_NEAR(static_cast<double>(fresh), 150e6, 5e6);
  EXPECT_NEAR(static_cast<double>(backlog), 50e6, 5e6);
}

TEST(line_pace, does_not_delay_fresh_events_that_need_less_than_their_share) {
  const auto [fresh, backlog] = share_the_line(40'000'000, true);
  EXPECT_NEAR(static_cast<double>(fresh), 80e6, 2e6);
  EXPECT_NEAR(static_cast<double>(backlog), 120e6, 5e6);
}

TEST(line_pace, without_a_rate_never_waits) {
  line_pace pace(bit_rate{});
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(pace.wait(line_pace::share::backlog, second).count(), 0);
    pace.sent(line_pace::share::backlog, block, second);
    EXPECT_EQ(pace.wait(line_pace::share::fresh, second).count(), 0);
    pace.sent(line_pace::share::fresh, block, second);
  }
}

TEST(line_pace, takes_a_new_rate_for_both) {
  line_pace pace(bit_rate{1e6}); // a block takes 0.8 s
  pace.sent(line_pace::share::fresh, block, second);
  ASSERT_GT(pace.wait(line_pace::share::backlog, second).count(), 0);
  pace.set_rate(bit_rate{}, second);
  EXPECT_EQ(pace.wait(line_pace::share::fresh, second).count(), 0);
  EXPECT_EQ(pace.wait(line_pace::share::backlog, second).count(), 0);
}

} // namespace
} // namespace l3
