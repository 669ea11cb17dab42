// SPDX-License-Identifier: Apache-2.0
// The slots of a strip: which of them are replaced, and that the strip names these and no others.
#include "transport/building/landing_strip.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <set>
#include <vector>

#include "tests/transport/building/rig.hpp"

namespace l3::test {
namespace {

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

/// Slots are kept in any order, and some sweeps apart from each other.
TEST_F(landing_strips, a_full_batch_shortens_the_strip_and_then_has_none_for_it) {
  memories told(8); // what a receiver knows that looks at exchanged() alone
  std::set<const std::byte*> kept;
  for (int sweep = 1; strip_.refill(batches_); ++sweep) {
    for (const auto slot : strip_.exchanged()) told.at(slot) = strip_.slots()[slot].memory;
    const auto now = memories_of(strip_);
    ASSERT_TRUE(std::ranges::equal(now, std::span(told).first(now.size())));
    for (std::size_t s = now.size(); s > 0; s -= std::min<std::size_t>(s, 3)) {
      EXPECT_TRUE(kept.insert(now[s - 1]).second) << "dealt twice";
      (void)strip_.keep(static_cast<std::uint32_t>(s - 1));
    }
    if (sweep % 4 == 0) strip_.release(batches_);
  }
  EXPECT_EQ(kept.size(), 64U) << "each slot of the batch was used";
}

} // namespace
} // namespace l3::test
