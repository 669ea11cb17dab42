// SPDX-License-Identifier: Apache-2.0
// That `koto-l3 bench decode` measures what it says: every step decodes the whole batch, and a
// wrong result is seen.
#include "tools/bench/decode_stand.hpp"

#include <gtest/gtest.h>

#include "gpu/queues/pool.hpp"
#include "gpu/queues/serial.hpp"

namespace l3::test {
namespace {

using namespace bench;

constexpr std::uint32_t events = 3;
constexpr std::uint32_t threshold = 100;

TEST(decode_stand, every_step_gives_the_same) {
  const decode_batch batch(events, 10);
  thread_pool pool(2);
  for (const decode_runner& r :
       {make_decode_runner("serial", serial_queue(), 1, batch, threshold),
        make_decode_runner("pool", pool_queue(pool), 2, batch, threshold)}) {
    for (std::size_t i = 0; i < decode_steps.size(); ++i) {
      r.poison();
      EXPECT_FALSE(r.is_right()) << r.where << ", " << decode_steps[i].name;
      r.step(i);
      EXPECT_TRUE(r.is_right()) << r.where << ", " << decode_steps[i].name;
    }
  }
}

TEST(decode_stand, adds_one_technique_after_the_other) {
  const auto as_bits = [](const decode_techniques& t) {
    return std::array{t.table_by_source, t.zero_suppression, t.warp_aggregation,
                      t.big_first,       t.short_registers,  t.opportunistic};
  };
  for (std::size_t i = 0; i < decode_steps.size(); ++i) {
    const auto bits = as_bits(decode_steps[i].how);
    for (std::size_t k = 0; k < bits.size(); ++k) EXPECT_EQ(bits[k], k < i) << i << ", " << k;
  }
}

TEST(decode_batch, has_as_many_opaque_boards_as_asked_for) {
  for (const std::uint32_t percent : {0U, 10U, 100U}) {
    const decode_batch batch(1, percent);
    std::uint32_t opaque = 0;
    for (std::uint32_t i = 0; i < batch.view().boards.size(); ++i)
      opaque += batch.view().boards[i].opaque;
    EXPECT_NEAR(opaque, batch.view().boards.size() * percent / 100.0, 10);
    EXPECT_EQ(batch.fragment_bytes(), readout::koto().event_bytes());
  }
}

} // namespace
} // namespace l3::test
