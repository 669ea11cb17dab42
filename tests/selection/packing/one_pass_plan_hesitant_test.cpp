// SPDX-License-Identifier: Apache-2.0
// The cases of one_pass_plan_test on queues whose blocks learn late what others have published: in
// a source of its own, because every executor compiles all kernels of packing.
#include "tests/gpu/executors/cpu_executors.hpp"
#include "tests/selection/engine/hesitant_queue.hpp"
#include "tests/selection/packing/one_pass_plan_cases.hpp"

namespace l3::test {
namespace {

using all = testing::Types<on_hesitant<on_serial<1>>, on_hesitant<on_serial<128>>,
                           on_hesitant<on_shuffled<32>>, on_hesitant<on_threaded<3>>,
                           on_hesitant<on_pool<3>>>;
INSTANTIATE_TYPED_TEST_SUITE_P(hesitant, both_forms, all);

TEST(hesitant_queue, makes_blocks_look_again) {
  hesitant_queue queue{serial_queue(128)};
  randomness r(5);
  const auto events = make_events(30, 4, 1, 6);
  const lent_batch batch(queue, events, 0, r);
  const packed_once once(queue, batch, 0);
  EXPECT_GT(queue.waited(), 0U);
}

} // namespace
} // namespace l3::test
