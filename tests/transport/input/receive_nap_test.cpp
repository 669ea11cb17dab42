// SPDX-License-Identifier: Apache-2.0
// How long a receive thread sleeps: never so long that a socket could overflow.
#include "transport/input/receive_nap.hpp"

#include <gtest/gtest.h>

namespace l3::test {
namespace {

using namespace std::chrono_literals;

class nap : public testing::Test {
protected:
  /// What follows a sweep that took so much from one port, `gathered_in` after the one before.
  [[nodiscard]] std::chrono::nanoseconds after(std::uint64_t datagrams, bool full = false,
                                               std::chrono::nanoseconds gathered_in = 1ms) {
    now_ += gathered_in;
    nap_.begin_sweep(now_);
    nap_.took(datagrams, datagrams * 8000, full);
    return nap_.after_sweep();
  }

  time_point now_{1s};
  receive_nap nap_{mebibytes(4)};
};

TEST_F(nap, is_long_when_little_came) { EXPECT_EQ(after(2), receive_nap::longest); }

TEST_F(nap, does_not_follow_a_full_burst) {
  EXPECT_EQ(after(2, true), 0ns);
  EXPECT_EQ(after(2), receive_nap::longest) << "the next sweep begins anew";
}

TEST_F(nap, ends_before_the_fullest_socket_is_full) {
  (void)after(1);
  EXPECT_EQ(after(60, false, 100us) / 1us, 193) << "a quarter of 4 MiB at 541 kB in 100 us";
  EXPECT_EQ(after(60, false, 10us), 0ns) << "too short to be worth a sleep";
}

TEST_F(nap, looks_at_the_fullest_port) {
  now_ += 100us;
  nap_.begin_sweep(now_);
  nap_.took(60, 60UL * 8000, false);
  nap_.took(1, 12, false);
  (void)nap_.after_sweep();
  now_ += 100us;
  nap_.begin_sweep(now_);
  nap_.took(60, 60UL * 8000, false);
  nap_.took(1, 12, false);
  EXPECT_LT(nap_.after_sweep(), 200us);
}

TEST_F(nap, is_short_with_a_small_buffer_whatever_came) {
  nap_ = receive_nap(kibibytes(208));
  EXPECT_EQ(after(1) / 1us, 85) << "half of it at 10 Gb/s";
  nap_ = receive_nap(kibibytes(16));
  EXPECT_EQ(after(1), 0ns);
}

} // namespace
} // namespace l3::test
