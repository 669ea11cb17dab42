// SPDX-License-Identifier: Apache-2.0
// Datagrams that have landed wait in their strip until they are worth the lock, and longer while
// another thread has it.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "tests/transport/building/rig.hpp"

namespace l3::test {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""us;

/// Strips of 16 slots, and two events of 10 datagrams.
class landed_datagrams : public testing::Test {
protected:
  landed_datagrams() : sent_(r_.event({1, 1})) {
    const auto second = r_.event({1, 2});
    sent_.insert(sent_.end(), second.begin(), second.end());
    r_.builder.enter(r_.strip, r_.now);
  }
  ~landed_datagrams() override { r_.drain(); }

  /// The next `n` of the sender land; the builder may take what has landed.
  void read(std::size_t n) {
    std::vector<datagram> some;
    for (std::size_t i = 0; i < n; ++i, ++next_) {
      const auto& d = sent_.at(next_);
      const auto slot = static_cast<std::uint32_t>(r_.strip.first_free() + i);
      std::ranges::copy(d.payload, r_.strip.slots()[slot].memory);
      some.push_back({{d.fragment_id, d.chunk, d.discriminator},
                      slot,
                      static_cast<std::uint32_t>(d.payload.size())});
    }
    r_.builder.land(r_.strip, some, r_.input);
    r_.builder.take_in_time(r_.strip, r_.input, r_.now);
  }
  [[nodiscard]] std::uint64_t taken() const {
    return r_.counters.data_chunks + r_.counters.trailers;
  }

  rig r_;
  std::vector<wire_datagram> sent_;
  std::size_t next_ = 0;
};

TEST_F(landed_datagrams, wait_until_they_fill_half_of_the_strip) {
  read(4);
  read(3);
  EXPECT_EQ(taken(), 0U);
  EXPECT_EQ(r_.strip.first_free(), 7U);
  read(1);
  EXPECT_EQ(taken(), 8U);
  EXPECT_EQ(r_.strip.first_free(), 0U);
  r_.builder.leave(r_.strip, r_.input, r_.now);
}

TEST_F(landed_datagrams, are_taken_when_the_thread_leaves) {
  read(3);
  r_.builder.end_round(r_.strip, r_.input, r_.now += 1us);
  EXPECT_EQ(taken(), 0U);
  r_.builder.leave(r_.strip, r_.input, r_.now);
  EXPECT_EQ(taken(), 3U);
  EXPECT_TRUE(r_.strip.slots().empty());
}

/// The batch closes by its age in another thread, which has the lock while it asks for the next
/// one.
TEST_F(landed_datagrams, wait_while_another_thread_has_the_lock_until_few_slots_are_free) {
  landing_strip other(16, r_.options.chunk_bytes);
  r_.send(r_.event({1, 3}), other);
  const auto before = taken();
  std::vector<std::uint64_t> taken_meanwhile;
  std::jthread waits;
  r_.pool.when_asked = [&] {
    r_.pool.when_asked = nullptr;
    for (const std::size_t n : {9, 2}) {
      std::jthread([&] { read(n); }).join();
      taken_meanwhile.push_back(taken() - before);
    }
    std::atomic<bool> begun = false;
    waits = std::jthread([&] {
      begun = true;
      read(1);
    });
    while (!begun) std::this_thread::yield();
    std::this_thread::sleep_for(10ms);
    taken_meanwhile.push_back(taken() - before);
  };
  r_.pass(5ms);
  waits.join();
  EXPECT_EQ(taken_meanwhile, (std::vector<std::uint64_t>{0, 0, 0}));
  EXPECT_EQ(taken() - before, 12U);
  r_.builder.leave(r_.strip, r_.input, r_.now);
}

} // namespace
} // namespace l3::test
