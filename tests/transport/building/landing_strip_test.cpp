// SPDX-License-Identifier: Apache-2.0
// The slots of a strip: which of them are replaced, and that the strip names these and no others.
#include "transport/building/landing_strip.hpp"

#include <algorithm>
#include <atomic>
#include <gtest/gtest.h>
#include <set>
#include <thread>
#include <vector>

#include "tests/transport/building/rig.hpp"

namespace l3::test {
namespace {

using std::chrono_literals::operator""ms;
using memories = std::vector<std::byte*>;
using indices = std::vector<std::uint32_t>;

memories memories_of(const landing_strip& strip) {
  memories all;
  for (const auto& slot : strip.slots()) all.push_back(slot.memory);
  return all;
}

indices exchanged(const landing_strip& strip) {
  indices all(strip.exchanged().begin(), strip.exchanged().end());
  std::ranges::sort(all);
  return all;
}

/// Two batches of 64 slots each, and strips of 8.
class landing_strips : public testing::Test {
protected:
  landing_strips() : pool_({.events = 4, .bytes = 64 * 1408}, 2), batches_(pool_, 1400) {
    batches_.move_to(batches_.try_take(), {});
  }

  fake_pool pool_;
  held_batches batches_;
  landing_strip strip_{8, 1400};
};

TEST_F(landing_strips, kept_slots_alone_are_replaced_and_in_their_places) {
  ASSERT_TRUE(strip_.refill(batches_));
  EXPECT_EQ(exchanged(strip_), (indices{0, 1, 2, 3, 4, 5, 6, 7}));
  const auto before = memories_of(strip_);
  (void)strip_.keep(5);
  (void)strip_.keep(2);
  ASSERT_TRUE(strip_.refill(batches_));
  EXPECT_EQ(exchanged(strip_), (indices{2, 5}));
  const auto after = memories_of(strip_);
  ASSERT_EQ(after.size(), 8U);
  for (const std::size_t s : {0U, 1U, 3U, 4U, 6U, 7U}) EXPECT_EQ(after[s], before[s]);
  for (const std::size_t s : {2U, 5U}) EXPECT_EQ(std::ranges::count(before, after[s]), 0);
  ASSERT_TRUE(strip_.refill(batches_));
  EXPECT_TRUE(strip_.exchanged().empty()) << "nothing was kept";
}

TEST_F(landing_strips, between_sweeps_a_strip_holds_nothing_and_gets_its_slots_back) {
  ASSERT_TRUE(strip_.refill(batches_));
  (void)strip_.keep(3);
  ASSERT_TRUE(strip_.refill(batches_));
  const auto before = memories_of(strip_);
  strip_.release(batches_);
  EXPECT_TRUE(strip_.slots().empty());
  EXPECT_EQ(batches_.current()->users, 0U);
  ASSERT_TRUE(strip_.refill(batches_));
  EXPECT_EQ(memories_of(strip_), before);
  EXPECT_TRUE(strip_.exchanged().empty());
}

TEST_F(landing_strips, a_batch_that_closes_between_sweeps_goes_and_is_not_written_into) {
  ASSERT_TRUE(strip_.refill(batches_));
  strip_.release(batches_);
  batches_.move_to(batches_.try_take(), {});
  EXPECT_TRUE(batches_.has_finished()) << "the strip kept it back";
  ASSERT_TRUE(strip_.refill(batches_));
  const auto bytes = batches_.current()->batch->bytes;
  for (auto* memory : memories_of(strip_)) {
    EXPECT_GE(memory, bytes.data());
    EXPECT_LT(memory, bytes.data() + bytes.size());
  }
  EXPECT_EQ(exchanged(strip_), (indices{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST_F(landing_strips, without_a_batch_the_slots_lie_in_own_memory) {
  batches_.move_to(nullptr, {});
  ASSERT_TRUE(strip_.refill(batches_));
  EXPECT_EQ(exchanged(strip_).size(), 8U);
  EXPECT_FALSE(strip_.lies_in(nullptr));
  const auto own = memories_of(strip_);
  ASSERT_TRUE(strip_.refill(batches_));
  EXPECT_TRUE(strip_.exchanged().empty());
  batches_.move_to(batches_.try_take(), {});
  ASSERT_TRUE(strip_.refill(batches_));
  EXPECT_TRUE(strip_.lies_in(batches_.current()));
  EXPECT_EQ(exchanged(strip_).size(), 8U);
  for (const auto* memory : memories_of(strip_)) EXPECT_EQ(std::ranges::count(own, memory), 0);
}

TEST_F(landing_strips, a_full_batch_shortens_the_strip_and_then_has_none_for_it) {
  memories told(8); // what a receiver knows that looks at exchanged() alone
  std::set<const std::byte*> kept;
  while (strip_.refill(batches_)) {
    for (const auto slot : strip_.exchanged()) told.at(slot) = strip_.slots()[slot].memory;
    const auto now = memories_of(strip_);
    ASSERT_TRUE(std::ranges::equal(now, std::span(told).first(now.size())));
    for (std::uint32_t s = 0; s < now.size(); s += 3) {
      EXPECT_TRUE(kept.insert(now[s]).second) << "dealt twice";
      (void)strip_.keep(s);
    }
  }
  EXPECT_EQ(kept.size(), 64U) << "each slot of the batch was used";
}

TEST_F(landing_strips, a_builder_replaces_kept_slots_of_a_batch_and_all_when_it_closed) {
  rig r;
  r.builder.enter(r.strip, r.now);
  const auto first = memories_of(r.strip);
  const auto all = r.event({1, 1});
  (void)r.land({all[0]}, 0, r.strip);
  EXPECT_EQ(exchanged(r.strip), (indices{0}));
  r.builder.leave(r.strip, r.input, r.now);
  r.send(all);
  r.pass(5ms); // the batch closes while the strip is outside
  EXPECT_EQ(r.pool.submitted(), 1U);
  r.builder.enter(r.strip, r.now);
  EXPECT_EQ(r.strip.exchanged().size(), r.strip.slots().size());
  for (const auto* memory : memories_of(r.strip)) EXPECT_EQ(std::ranges::count(first, memory), 0);
  r.builder.leave(r.strip, r.input, r.now);
  r.drain();
}

// Datagrams that have landed wait in their strip until they are worth the lock, and longer while
// another thread has it.

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
