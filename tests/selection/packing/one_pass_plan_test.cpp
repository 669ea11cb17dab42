// SPDX-License-Identifier: Apache-2.0
#include "tests/selection/packing/one_pass_plan_cases.hpp"

#include "gpu/executors/pool.hpp"
#include "gpu/executors/serial.hpp"
#include "gpu/executors/shuffled.hpp"
#include "gpu/executors/threaded.hpp"
#include "tests/selection/engine/hesitant_queue.hpp"
#include "tests/selection/packing/look_back_cases.hpp"

namespace l3::test {
namespace {

template <std::uint32_t width>
struct serial {
  static constexpr bool slow = false;
  static serial_queue make() { return serial_queue(width); }
};
struct shuffled {
  static constexpr bool slow = false;
  static shuffled_queue make() { return shuffled_queue(32, 42); }
};
struct threaded {
  static constexpr bool slow = true;
  static threaded_queue make() { return threaded_queue(3); } // a width that divides nothing
};
template <std::uint32_t threads>
struct pool {
  static constexpr bool slow = false;
  static pool_queue make() {
    static thread_pool pool(threads);
    return pool_queue(pool);
  }
};

template <class Executor>
struct hesitant {
  static constexpr bool slow = Executor::slow;
  static auto make() { return hesitant_queue(Executor::make()); }
};

using on_cpu = testing::Types<serial<1>, serial<128>, shuffled, threaded, pool<1>, pool<3>, pool<9>,
                              hesitant<serial<1>>, hesitant<serial<128>>, hesitant<shuffled>,
                              hesitant<threaded>, hesitant<pool<3>>>;
INSTANTIATE_TYPED_TEST_SUITE_P(cpu, both_forms, on_cpu);
INSTANTIATE_TYPED_TEST_SUITE_P(cpu, looking_back, on_cpu);

TEST(hesitant_queue, makes_blocks_look_again) {
  hesitant_queue queue{serial_queue(128)};
  randomness r(5);
  const auto events = make_events(30, 4, 1, 6);
  const lent_batch batch(queue, events, 0, r);
  const packed_once once(queue, batch, 0);
  EXPECT_GT(queue.waited(), 0U);
}

TEST(position_word, says_where_a_fragment_ends) {
  const auto first = position_word::after_previous(10, true);
  const auto second = position_word::after_previous(10, false);
  const auto there = position_word::at(10);
  EXPECT_FALSE(position_word().is_absolute() || position_word().is_relative());
  EXPECT_TRUE(first.is_relative() && second.is_relative() && !there.is_relative());
  EXPECT_TRUE(!first.is_absolute() && !second.is_absolute() && there.is_absolute());
  for (const std::uint64_t before : {0U, 1U, 7U, 8U}) {
    EXPECT_EQ(first.end(before), (before == 0 ? 0 : 8) + 10U);
    EXPECT_EQ(second.end(before), before + 10);
    EXPECT_EQ(there.end(before), 10U);
  }
  EXPECT_TRUE(position_word::at(0).is_absolute());
  EXPECT_TRUE(position_word::after_previous(0, false).is_relative());
  constexpr std::uint64_t large = std::uint64_t{1} << 40;
  EXPECT_EQ(position_word::after_previous(large, true).end(large + 1), 2 * large + 8);
}

TEST(position_step, is_the_same_however_steps_are_put_together) {
  randomness r(10);
  for (int again = 0; again < 500; ++again) {
    const std::uint32_t n = 1 + below(r, 30);
    const auto lengths = make_lengths(n, below(r, 5), r);
    std::vector<position_step> steps;
    for (const std::uint64_t word : lengths) steps.emplace_back(position_word(word));
    while (steps.size() > 1) {
      const std::uint32_t k = below(r, static_cast<std::uint32_t>(steps.size() - 1));
      steps[k] = position_step().then(steps[k]).then(steps[k + 1]).then(position_step());
      steps.erase(steps.begin() + k + 1);
    }
    const std::uint64_t from = below(r, 100);
    std::uint64_t end = from;
    for (const std::uint64_t word : lengths) end = position_word(word).end(end);
    ASSERT_EQ(steps[0].end(from), end);
  }
  EXPECT_EQ(position_step(position_word::at(77)).end(0), 77U);
}

} // namespace
} // namespace l3::test
