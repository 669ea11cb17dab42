// SPDX-License-Identifier: Apache-2.0
// That `koto-l3-bench decode` measures what it says: every step decodes the whole batch, and a
// wrong result is seen.
#include "bench/decode/decode_stand.hpp"

#include <gtest/gtest.h>

#include "gpu/executors/pool.hpp"
#include "gpu/executors/serial.hpp"
#include "tests/selection/engine/stream_queue.hpp"

namespace l3::test {
namespace {

using namespace bench;

constexpr std::uint32_t events = 3;
constexpr std::uint32_t threshold = 100;

using imagined = stream_queue<serial_queue>;

/// Leaves out the last board of a kernel and the last byte of a copy.
struct lazy_queue : imagined {
  using imagined::imagined;

  template <class Kernel, class... Args>
  void run(const Kernel& kernel, std::uint32_t blocks, const Args&... args) {
    imagined::run(kernel, blocks > 1 ? blocks - 1 : blocks, args...);
  }
  void copy_within(void* to, const void* from, std::size_t n) {
    imagined::copy_within(to, from, n - 1);
  }
};

TEST(decode_stand, every_step_gives_the_same) {
  const decode_batch batch(events, 10);
  thread_pool pool(2);
  for (const decode_entrants& d :
       {make_decode_entrants("serial", serial_queue(), 1, batch, threshold),
        make_decode_entrants("pool", pool_queue(pool), 2, batch, threshold),
        make_decode_entrants("device", imagined(serial_queue(32)), 2, batch, threshold)}) {
    ASSERT_EQ(d.all.size(), 1 + decode_steps.size());
    for (const entrant& x : d.all) {
      x.poison();
      EXPECT_FALSE(x.is_right()) << d.where << ", " << x.name;
      x.run();
      x.run();
      x.finish();
      EXPECT_TRUE(x.is_right()) << d.where << ", " << x.name;
    }
  }
}

TEST(decode_stand, sees_what_was_left_out) {
  const decode_batch batch(events, 10);
  const decode_entrants d =
      make_decode_entrants("device", lazy_queue(serial_queue(32)), 2, batch, threshold);
  for (const std::size_t i :
       {0, 1, 6}) { // in the last step the blocks that are left do all the work
    d.all[i].poison();
    d.all[i].run();
    d.all[i].finish();
    EXPECT_FALSE(d.all[i].is_right()) << d.all[i].name;
  }
}

TEST(decode_stand, waits_only_when_a_timing_ends) {
  const decode_batch batch(1, 0);
  const auto control = std::make_shared<stream_control>();
  const decode_entrants d =
      make_decode_entrants("device", imagined(serial_queue(32), control), 2, batch, threshold);
  constexpr int submitting = 1;
  for (const auto& [i, enqueued] : {std::pair{0, 1}, std::pair{1, 2}}) { // a step is two kernels
    control->forget();
    d.all[i].run();
    d.all[i].run();
    EXPECT_EQ(control->waits(), 0);
    d.all[i].finish();
    EXPECT_EQ(control->enqueued(), 2 * enqueued + submitting);
    EXPECT_EQ(control->waits(), 1);
  }
}

TEST(decoded_batch, refuses_more_samples_than_indices_reach) {
  region counted;
  constexpr std::uint32_t boards = decoded_batch::most_boards;
  EXPECT_EQ(decoded_batch::take(counted, 1, boards).samples.size(), boards * 1024);
  EXPECT_THROW(static_cast<void>(decoded_batch::take(counted, 1, boards + 1)), std::out_of_range);
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
