// SPDX-License-Identifier: Apache-2.0
#include "transport/outbox/link_pace.hpp"

#include <array>

#include <gtest/gtest.h>

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

TEST(link_pace, gives_all_of_the_link_to_who_is_alone) {
  EXPECT_NEAR(static_cast<double>(share_the_link(1'000'000'000, false)[0]), 200e6, 2e6);
  EXPECT_NEAR(static_cast<double>(share_the_link(0, true)[1]), 200e6, 2e6);
}

TEST(link_pace, gives_the_backlog_a_quarter_if_fresh_events_could_fill_the_link) {
  const auto [fresh, backlog] = share_the_link(1'000'000'000, true);
  EXPECT_NEAR(static_cast<double>(fresh), 150e6, 5e6);
  EXPECT_NEAR(static_cast<double>(backlog), 50e6, 5e6);
}

TEST(link_pace, does_not_delay_fresh_events_that_need_less_than_their_share) {
  const auto [fresh, backlog] = share_the_link(40'000'000, true);
  EXPECT_NEAR(static_cast<double>(fresh), 80e6, 2e6);
  EXPECT_NEAR(static_cast<double>(backlog), 120e6, 5e6);
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

} // namespace
} // namespace l3
